// What every sandbox must do, whatever it is built of. What only one of them has, its own test proves.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Duplex, Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox, SandboxJob, SandboxResult } from "./sandbox.ts";

export interface SandboxGround {
  open(folder: string): Sandbox | Promise<Sandbox>;
  /** Why it cannot be tried here; null: it can. */
  readonly absent: string | null;
}

export interface Tried extends Omit<SandboxResult, "stdout" | "stderr"> {
  readonly out: string;
  readonly err: string;
}

/** One job with the usual rest. */
export async function tryJob(
  sandbox: Sandbox,
  argv: readonly string[],
  extra: Partial<SandboxJob> = {},
): Promise<Tried> {
  const { stdout, stderr, ...rest } = await sandbox.run({
    argv,
    cwd: "/job",
    env: {},
    mounts: [],
    signal: AbortSignal.timeout(60_000),
    ...extra,
  });
  return { ...rest, out: Buffer.from(stdout).toString(), err: Buffer.from(stderr).toString() };
}

/** A folder that every user may enter and write. */
export function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-box-test-"));
  chmodSync(folder, 0o777);
  return folder;
}

const sh = (script: string): string[] => ["/bin/sh", "-c", script];
/** threats.md 4.4. */
export const PROTECTED = [
  ".git/hooks",
  ".git/config",
  ".git/info",
  ".gitmodules",
  ".husky",
  ".env",
  ".npmrc",
  ".mcp.json",
  ".vscode",
  ".idea",
  ".cursor",
  ".claude",
  ".bashrc",
  ".profile",
];

export function sandboxSuite(name: string, ground: SandboxGround): void {
  describe.skipIf(ground.absent !== null)(`sandbox: ${name}`, () => {
    let folder: string;
    let sandbox: Sandbox;
    beforeAll(async () => {
      folder = openFolder();
      sandbox = await ground.open(join(folder, "own"));
      expect(await sandbox.probed).toMatchObject({ ready: true, reason: null });
    });
    afterAll(async () => {
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const run = (argv: readonly string[], extra?: Partial<SandboxJob>): Promise<Tried> =>
      tryJob(sandbox, argv, extra);
    const fresh = (): string => {
      const made = mkdtempSync(join(folder, "w-"));
      chmodSync(made, 0o777);
      return made;
    };

    test("a program runs and its streams and exit code come back", async () => {
      const result = await run(sh("cat; echo to-err >&2; exit 7"), {
        stdin: Buffer.from("typed\n"),
      });
      expect(result).toMatchObject({
        out: "typed\n",
        err: "to-err\n",
        exitCode: 7,
        signal: null,
        oom: false,
        overflowed: false,
      });
    });

    test("a program that is not there ends like in a shell, without a word about the host", async () => {
      const result = await run(["no-such-program"]);
      expect(result).toMatchObject({ exitCode: 127, out: "" });
      expect(result.err).toContain("no-such-program");
      expect(result.err).not.toContain(folder);
    });

    test("a folder to work in that is not there is the caller's mistake", async () => {
      await expect(run(["/bin/true"], { cwd: "/job/none" })).rejects.toMatchObject({
        fault: {
          code: "BAD_REQUEST",
          reason: "invalid_arguments",
          remedy: expect.any(String) as unknown,
        },
      });
    });

    test("T43: the environment is the declared one, word for word", async () => {
      const { out } = await run(["/usr/bin/env"], { env: { COLOUR: "a=b c\nd" } });
      const names = out
        .split("\n")
        .filter((line) => line.includes("="))
        .map((line) => line.split("=")[0]);
      expect(names.sort()).toEqual(
        ["COLOUR", "HOME", "LANG", "PATH", "PWD", "TMPDIR"].filter(
          (one) => one !== "PWD" || out.includes("PWD="),
        ),
      );
      expect(out).toContain("COLOUR=a=b c\nd\n");
    });

    test("files made for the job are there, and cannot be changed", async () => {
      const files = {
        "/job/a b.txt": Buffer.from("given"),
        "/job/sub/s.sh": Buffer.from("echo script\n"),
      };
      const result = await run(
        sh("cat '/job/a b.txt'; sh /job/sub/s.sh; echo x >> '/job/a b.txt'"),
        { files },
      );
      expect(result.out).toBe("givenscript\n");
      expect(result.exitCode).not.toBe(0);
    });

    test("a mounted folder is readable, and writable only where it says so", async () => {
      const work = fresh();
      writeFileSync(join(work, "seen"), "yes");
      const attempt = (access: "ro" | "rw") =>
        run(sh("cat seen; echo new > made"), {
          cwd: "/workspace",
          mounts: [{ host: work, at: "/workspace", access }],
        });
      expect(await attempt("ro")).toMatchObject({ out: "yes" });
      expect(readdirSync(work)).toEqual(["seen"]);
      expect(await attempt("rw")).toMatchObject({ out: "yes", exitCode: 0 });
      expect(readFileSync(join(work, "made"), "utf8")).toBe("new\n");
    });

    test("T44: output beyond the cap ends the job, and what came before is kept", async () => {
      const seen: number[] = [];
      const result = await run(["/usr/bin/yes"], {
        limits: { outputBytes: 100_000 },
        onOutput: (_name, chunk) => seen.push(chunk.length),
      });
      expect(result).toMatchObject({ overflowed: true, exitCode: null, signal: "SIGKILL" });
      expect(result.out).toHaveLength(100_000);
      expect(seen.reduce((sum, one) => sum + one, 0)).toBe(100_000);
    });

    test("an abort ends everything, also what does not want to", async () => {
      const work = fresh();
      const stubborn =
        "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; date +%s%N > beat; done' &); echo up; while :; do sleep 1; done";
      const controller = new AbortController();
      const running = run(sh(stubborn), {
        cwd: "/workspace",
        mounts: [{ host: work, at: "/workspace", access: "rw" }],
        signal: controller.signal,
      });
      await expect.poll(() => existsSync(join(work, "beat"))).toBe(true);
      controller.abort();
      expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", out: "up\n" });
      const last = readFileSync(join(work, "beat"), "utf8");
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(readFileSync(join(work, "beat"), "utf8")).toBe(last);
    });

    test("a job that was cancelled before it began is not started", async () => {
      const work = fresh();
      const result = await run(sh("echo x > made"), {
        cwd: "/workspace",
        mounts: [{ host: work, at: "/workspace", access: "rw" }],
        signal: AbortSignal.abort(),
      });
      expect(result).toMatchObject({ signal: "SIGKILL" });
      expect(readdirSync(work)).toEqual([]);
    });

    test("T35: without network there is none, whatever the program ignores", async () => {
      let reached = 0;
      const trap: Server = createServer((socket) => {
        reached += 1;
        socket.destroy();
      });
      await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
      const { port } = trap.address() as AddressInfo;
      const probe = `exec 3<>/dev/tcp/127.0.0.1/${port} && echo OPEN; exec 4<>/dev/udp/8.8.8.8/53 && echo q >&4 && echo SENT; getent hosts example.com && echo RESOLVED; exec 5<>/dev/tcp/127.0.0.1/3128 && echo DOOR`;
      const result = await run([
        "/bin/bash",
        "-c",
        probe
          .split(";")
          .map((part) => `(${part})`)
          .join(";"),
      ]);
      expect(result.out).toBe("");
      const direct = await run(["/bin/bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/${port}`], {
        network: (socket) => socket.destroy(),
      });
      expect(direct.exitCode).not.toBe(0);
      expect(reached).toBe(0);
      trap.close();
    });

    test("with network every connection arrives at the door, both ways, also large ones", async () => {
      const big = Buffer.alloc(3_000_000, "x");
      let received = 0;
      const script =
        "exec 3<>/dev/tcp/127.0.0.1/3128; head -c 3000000 /dev/zero >&3; printf END >&3; wc -c <&3; echo $HTTPS_PROXY";
      const result = await run(["/bin/bash", "-c", script], {
        network: (socket) => {
          let tail = "";
          socket.on("data", (chunk: Buffer) => {
            received += chunk.length;
            tail = (tail + chunk.subarray(-3).toString("latin1")).slice(-3);
            if (tail === "END") socket.end(big);
          });
        },
      });
      expect(result).toMatchObject({ out: "3000000\nhttp://127.0.0.1:3128\n", exitCode: 0 });
      expect(received).toBe(3_000_003);
    });

    test("a program with network has neither a channel to the server nor ours to load", async () => {
      const work = fresh();
      writeFileSync(
        join(work, "evil.cjs"),
        "require('fs').writeFileSync('/workspace/loaded', 'x')",
      );
      const result = await run(sh("ls /proc/self/fd; env | grep -c CHANNEL"), {
        env: { NODE_OPTIONS: "--require /workspace/evil.cjs", BASH_ENV: "/workspace/evil.cjs" },
        mounts: [{ host: work, at: "/workspace", access: "rw" }],
        network: (socket) => socket.destroy(),
      });
      expect(
        result.out
          .split("\n")
          .map(Number)
          .filter((fd) => fd > 3),
      ).toEqual([]);
      expect(result.out.trim().endsWith("\n0")).toBe(true);
      expect(existsSync(join(work, "loaded"))).toBe(false);
    });

    test("T36: protected paths stay as they are, existing or not, and no trace is left", async () => {
      for (const existing of [false, true]) {
        const work = fresh();
        if (existing)
          for (const path of PROTECTED) {
            mkdirSync(join(work, path, ".."), { recursive: true });
            if (/hooks|info|husky|vscode|idea|cursor|claude/.test(path))
              mkdirSync(join(work, path));
            else writeFileSync(join(work, path), "kept");
          }
        openUp(work);
        const before = picture(work);
        const attacks = PROTECTED.flatMap((path) => {
          const parent = path.split("/")[0] ?? "";
          return [
            `echo evil > ${path}`,
            `mkdir -p ${path} && echo evil > ${path}/x`,
            `rm -rf ${path}`,
            `mv ${path} moved`,
            `mv planted ${path}`,
            `ln planted ${path}`,
            `ln ${path} linked`,
            `ln -s planted ${path}`,
            `ln -sfn planted ${path}`,
            `mv ${parent} gone && mkdir ${parent}`,
            `rm -rf ${parent}; mkdir -p ${parent}; echo evil > ${path}`,
            `touch ${path}/x`,
            `chmod 777 ${path}`,
          ];
        });
        const script = `echo evil > planted; ${attacks.map((one) => `(${one}) 2>/dev/null`).join("; ")}; rm -rf planted moved linked gone; echo done`;
        const result = await run(sh(script), {
          cwd: "/workspace",
          mounts: [{ host: work, at: "/workspace", access: "rw", protect: PROTECTED }],
        });
        expect(result.out).toBe("done\n");
        expect(picture(work)).toEqual(before);
      }
    });

    test("T36: a protected name that is a link is refused, since it could be replaced", async () => {
      const work = fresh();
      symlinkSync("elsewhere", join(work, ".env"));
      await expect(
        run(["/bin/true"], {
          mounts: [{ host: work, at: "/workspace", access: "rw", protect: [".env"] }],
        }),
      ).rejects.toMatchObject({
        fault: { reason: "path_forbidden", remedy: expect.any(String) as unknown },
      });
    });

    test("T38: what a job may not say is refused, and nothing runs", async () => {
      const work = fresh();
      const bad: Partial<SandboxJob>[] = [
        { argv: [] },
        { argv: [""] },
        { argv: ["/bin/true", "a\0b"] },
        { cwd: "relative" },
        { cwd: "/job/../etc" },
        { env: { "A B": "1" } },
        { env: { PATH: "/workspace" } },
        { env: { A: "\0" } },
        { mounts: [{ host: "/", at: "/x", access: "ro" }] },
        { mounts: [{ host: "/proc", at: "/x", access: "ro" }] },
        { mounts: [{ host: "/run/docker.sock", at: "/x", access: "ro" }] },
        { mounts: [{ host: work, at: "/", access: "rw" }] },
        { mounts: [{ host: work, at: "/usr/bin", access: "rw" }] },
        { mounts: [{ host: work, at: "/etc", access: "ro" }] },
        { mounts: [{ host: work, at: "/x", access: "rw", protect: ["../y"] }] },
        { files: { "/etc/passwd": Buffer.from("x") } },
        { owner: { uid: 0, gid: 0 } },
      ];
      for (const extra of bad)
        await expect(run(["/bin/true"], extra), JSON.stringify(extra)).rejects.toMatchObject({
          fault: { code: "BAD_REQUEST", remedy: expect.any(String) as unknown },
        });
    });

    describe("a program that goes on", () => {
      const job = (argv: readonly string[], extra: Partial<SandboxJob> = {}): SandboxJob => ({
        argv,
        cwd: "/job",
        env: {},
        mounts: [],
        signal: new AbortController().signal,
        ...extra,
      });
      const readLine = async (stream: Readable): Promise<string> => {
        for await (const line of createInterface({ input: stream })) return line;
        return "";
      };
      const ticking = (work: string): Partial<SandboxJob> => ({
        cwd: "/workspace",
        mounts: [{ host: work, at: "/workspace", access: "rw" }],
      });
      const TICK =
        "trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; date +%s%N > beat; done' &); while :; do sleep 1; done";
      const beats = async (work: string): Promise<boolean> => {
        const last = readFileSync(join(work, "beat"), "utf8");
        await new Promise((resolve) => setTimeout(resolve, 600));
        return readFileSync(join(work, "beat"), "utf8") !== last;
      };

      test("is spoken to line by line, and ends when its input does", async () => {
        const opened = await sandbox.open(
          job(sh('while read line; do echo "got $line"; done; echo bye >&2; exit 3')),
        );
        const lines = createInterface({ input: opened.stdout })[Symbol.asyncIterator]();
        for (const word of ["one", "two"]) {
          opened.stdin.write(`${word}\n`);
          expect((await lines.next()).value).toBe(`got ${word}`);
        }
        opened.stdin.end();
        expect(await readLine(opened.stderr)).toBe("bye");
        expect(await opened.ended).toEqual({
          exitCode: 3,
          oom: false,
          reason: "it ended with exit code 3",
        });
      });

      test("T43: has the declared environment, word for word, also with network", async () => {
        for (const network of [undefined, (socket: Duplex) => void socket.destroy()]) {
          const opened = await sandbox.open(
            job(["/usr/bin/env"], { env: { COLOUR: "blue" }, ...(network && { network }) }),
          );
          const lines = (await opened.stdout.setEncoding("utf8").toArray())
            .join("")
            .trim()
            .split("\n");
          const proxies = network
            ? [
                "HTTPS_PROXY=http://127.0.0.1:3128",
                "HTTP_PROXY=http://127.0.0.1:3128",
                "NO_PROXY=",
                "http_proxy=http://127.0.0.1:3128",
                "https_proxy=http://127.0.0.1:3128",
                "no_proxy=",
              ]
            : [];
          expect(lines.filter((line) => !line.startsWith("PWD=")).sort()).toEqual(
            [
              "COLOUR=blue",
              "HOME=/job",
              "LANG=C.UTF-8",
              "PATH=/usr/local/bin:/usr/bin:/bin",
              "TMPDIR=/tmp",
              ...proxies,
            ].sort(),
          );
          opened.stderr.resume();
          expect(await opened.ended).toMatchObject({ exitCode: 0 });
        }
      });

      test("a program that is not there ends at once, and the reason names it", async () => {
        const opened = await sandbox.open(job(["/no/such-program"]));
        opened.stdout.resume();
        opened.stderr.resume();
        expect(await opened.ended).toEqual({
          exitCode: null,
          oom: false,
          reason: "/no/such-program: No such file or directory",
        });
      });

      test("kill, its signal and close each end all of it, though nobody reads what it writes", async () => {
        for (const way of ["kill", "signal", "close"] as const) {
          const work = fresh();
          const other = way === "close" ? await ground.open(join(folder, "other")) : sandbox;
          const controller = new AbortController();
          const opened = await other.open(
            job(sh(`yes & ${TICK}`), { ...ticking(work), signal: controller.signal }),
          );
          await expect.poll(() => existsSync(join(work, "beat")), { timeout: 20_000 }).toBe(true);
          if (way === "kill") opened.kill();
          else if (way === "signal") controller.abort();
          else await other.close();
          expect(await opened.ended).toMatchObject({ exitCode: null, reason: "it was stopped" });
          expect(await beats(work)).toBe(false);
        }
      });

      test("beyond its memory it is ended, and the reason says so", async () => {
        const opened = await sandbox.open(
          job(["/usr/bin/python3", "-c", "x = bytearray(300_000_000); print(len(x))"], {
            limits: { memoryBytes: 100_000_000 },
          }),
        );
        opened.stdout.resume();
        opened.stderr.resume();
        const held = sandbox.status.limits !== "weak";
        expect(await opened.ended).toMatchObject({
          oom: held,
          reason: held ? "it used more memory than it may" : "it ended with exit code 0",
        });
      });

      test("one that was cancelled before is not started, and a wrong job is refused", async () => {
        await expect(
          sandbox.open(job(["/bin/true"], { signal: AbortSignal.abort() })),
        ).rejects.toMatchObject({ fault: { code: "CANCELLED" } });
        await expect(sandbox.open(job(["/bin/true"], { cwd: "relative" }))).rejects.toMatchObject({
          fault: { code: "BAD_REQUEST" },
        });
      });
    });

    test("many jobs at once do not mix", async () => {
      const results = await Promise.all(
        Array.from({ length: 12 }, (_one, index) =>
          run(sh(`echo ${index}; sleep 0.1; echo ${index}`)),
        ),
      );
      expect(results.map(({ out }) => out)).toEqual(
        results.map((_one, index) => `${index}\n${index}\n`),
      );
    });
  });
}

/** Every path below with its kind and content. */
export function picture(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return `${path.slice(folder.length)} ${entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : readFileSync(path, "utf8")}`;
    })
    .sort();
}

function openUp(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (!entry.isSymbolicLink())
      chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o777 : 0o666);
}
