// What a program may put on the host's disk: beyond it, it is killed with all that it started.
import { chownSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

const AS_ROOT = process.getuid?.() === 0;
const UID = 12_345;
const MIB = 1_048_576;
const MOST = 32;
/** 20 files of 16 MiB, with time between them: ten times the limit if nobody looks. */
const WRITES =
  "i=0; while [ $i -lt 20 ]; do dd if=/dev/zero of=f$i bs=1M count=16 2>/dev/null; sleep 0.1; i=$((i+1)); done";

describe.skipIf(!HAS_BOX).each(AS_ROOT ? ["in place", "on a copy"] : ["in place"])(
  "B12: programs that work %s",
  { timeout: 90_000 },
  (how) => {
    let app: StartedApp;
    beforeAll(async () => {
      app = await startApp({
        flags: {
          governance: openHouse(),
          "sandbox.diskMb": String(MOST),
          "sandbox.diskEntries": "2000",
        },
      });
      if (AS_ROOT && how === "in place") chownSync(app.workspace, UID, UID);
    });
    afterEach(() => {
      for (const name of readdirSync(app.workspace))
        rmSync(join(app.workspace, name), { recursive: true });
    });
    afterAll(() => app.close());
    const script = async (text: string) => {
      const { body } = await app.api("POST", "/executions", {
        body: {
          name: "shell/script",
          arguments: { script: `echo began; ${text}; echo ended`, timeoutSeconds: 60 },
          timeout: 60_000,
        },
      });
      return body.result as { stdout: string; stderr: string; exitCode: number };
    };
    const sizeOf = (): number =>
      readdirSync(app.workspace).reduce(
        (sum, name) => sum + statSync(join(app.workspace, name)).blocks * 512,
        0,
      );
    const killed = {
      exitCode: -1,
      stdout: "began\n",
      stderr: expect.stringContaining("it put more on the disk than a program may") as string,
    };

    test("B12: many files, each of which is allowed", async () => {
      expect(await script(WRITES)).toMatchObject(killed);
      expect(sizeOf()).toBeLessThan(8 * MOST * MIB);
      if (how === "on a copy") expect(sizeOf()).toBe(0);
    });

    test("B12: a file without a name", async () => {
      expect(
        await script(
          "exec 9>gone; rm gone; i=0; while [ $i -lt 15 ]; do dd if=/dev/zero bs=1M count=16 >&9 2>/dev/null; sleep 0.1; i=$((i+1)); done",
        ),
      ).toMatchObject(killed);
    });

    test("B12: children that nobody waits for, and a folder deep below", async () => {
      expect(
        await script(`mkdir -p a/b/c; cd a/b/c; trap '' CHLD; (${WRITES}) & sleep 10`),
      ).toMatchObject(killed);
    });

    test("B12: a great number of small files", async () => {
      expect(
        await script(
          "mkdir many; i=0; while [ $i -lt 20000 ]; do : > many/$i; i=$((i+1)); done; sleep 1",
        ),
      ).toMatchObject(killed);
    });

    test("B12: control: less than that, a sparse file, and space that is used again", async () => {
      const told = await script(
        "dd if=/dev/zero of=ok bs=1M count=16 2>/dev/null; dd if=/dev/zero of=hole bs=1 count=1 seek=200M 2>/dev/null; rm hole; i=0; while [ $i -lt 8 ]; do dd if=/dev/zero of=again bs=1M count=8 2>/dev/null; rm again; sleep 0.1; i=$((i+1)); done",
      );
      expect(told).toMatchObject({ exitCode: 0, stdout: "began\nended\n" });
    });
  },
);
