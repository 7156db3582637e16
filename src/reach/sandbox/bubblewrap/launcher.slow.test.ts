import { spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBubblewrap } from "../bubblewrap.ts";
import type { Sandbox } from "../sandbox.ts";
import { openFolder } from "../sandbox.suite.ts";
import { findProgram } from "./system.ts";

const path = process.env["PATH"] ?? "";
const missing = findProgram("bwrap", path) === null;
const CHROMIUM = "/usr/lib/chromium/chromium";
const job = { cwd: "/job", env: {}, mounts: [] };

describe.skipIf(missing)("launcher", { timeout: 90_000 }, () => {
  let folder: string;
  let sandbox: Sandbox;
  beforeAll(() => {
    folder = openFolder();
    sandbox = openBubblewrap({ folder: join(folder, "own"), path });
  });
  afterAll(async () => {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const start = (file: string, args: string[]) =>
    spawn(file, args, { stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"], detached: true });
  const text = async (stream: Readable): Promise<string> =>
    (await stream.setEncoding("utf8").toArray()).join("");

  test("passes arguments and descriptors 3 and 4 into a box, and ends with it", async () => {
    const launcher = await sandbox.launcher({ ...job, program: "/bin/sh" });
    const child = start(launcher.path, [
      "-c",
      'hostname; echo "$1" >&2; read line <&3; echo "back: $line" >&4',
      "sh",
      "a b'\"\n",
    ]);
    (child.stdio[3] as Writable).end("over there\n");
    const [back, logs] = await Promise.all([
      text(child.stdio[4] as Readable),
      text(child.stderr as Readable),
    ]);
    expect(back).toBe("back: over there\n");
    expect(logs).toBe("job\na b'\"\n\n");
    await launcher.close();
  });

  test("what runs inside dies with the program file, and with close", async () => {
    for (const way of ["kill", "close"]) {
      let connected = 0;
      let gone = 0;
      const launcher = await sandbox.launcher({
        ...job,
        program: "/bin/bash",
        network: (socket) => {
          connected += 1;
          socket.on("close", () => (gone += 1)).resume();
        },
      });
      const child = start(launcher.path, [
        "-c",
        "exec 5<>/dev/tcp/127.0.0.1/3128; trap '' TERM; sleep 600",
      ]);
      child.on("error", () => undefined);
      await expect.poll(() => connected, { timeout: 30_000 }).toBe(1);
      if (way === "kill") process.kill(-(child.pid ?? 0), "SIGKILL");
      else await launcher.close();
      await expect.poll(() => gone).toBe(1);
      await expect.poll(() => child.exitCode ?? child.signalCode).not.toBeNull();
      await launcher.close();
      expect(existsSync(launcher.path)).toBe(false);
    }
  });

  test("one that was never called is closed", async () => {
    const launcher = await sandbox.launcher({ ...job, program: "/bin/true" });
    await launcher.close();
    expect(existsSync(launcher.path)).toBe(false);
  });

  test("a box that cannot be built says so on stderr", async () => {
    const launcher = await sandbox.launcher({ ...job, cwd: "relative", program: "/bin/true" });
    const child = start(launcher.path, []);
    expect(await text(child.stderr as Readable)).toContain("cwd: expected an absolute path");
    await launcher.close();
  });

  test.skipIf(!existsSync(CHROMIUM))(
    "a real browser starts in it and sees a page through the door only",
    async () => {
      const asked: string[] = [];
      const web = createServer((request, response) => {
        asked.push(request.url ?? "");
        response.setHeader("content-type", "text/html").end("<title>Seen</title>");
      });
      const limits = {
        memoryBytes: 1_500_000_000,
        processes: 1024,
        tmpBytes: 256_000_000,
        openFiles: 4096,
        cpus: 2,
      };
      const launcher = await sandbox.launcher({
        ...job,
        program: CHROMIUM,
        localSockets: true,
        limits,
        network: (socket) => void web.emit("connection", socket),
      });
      const { chromium } = await import("playwright-core");
      const args = [
        "--no-sandbox",
        "--proxy-server=http://127.0.0.1:3128",
        "--proxy-bypass-list=<-loopback>",
      ];
      const browser = await chromium.launch({
        executablePath: launcher.path,
        args,
        timeout: 60_000,
      });
      const page = await browser.newPage();
      await page.goto("http://page.test/x");
      expect(await page.title()).toBe("Seen");
      expect(asked).toContain("http://page.test/x");
      await browser.close();
      await launcher.close();
    },
  );
});
