// A program file for a client that insists on starting its browser itself. The file starts nothing: it notifies the
// server that it was called, and carries bytes between its descriptors and the box that the server then starts.
import { execFile } from "node:child_process";
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
// eslint-disable-next-line @typescript-eslint/no-restricted-imports -- reads a named pipe; connects to nothing
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { faultOf } from "../../../contract/errors.ts";
import type { Sandbox, SandboxLauncher } from "../sandbox.ts";
import type { Box } from "./box.ts";
import { buildBox, type Workshop } from "./workshop.ts";

type LauncherJob = Parameters<Sandbox["launcher"]>[0];

const PIPES = ["called", "in", "out", "err"] as const;
type Pipe = (typeof PIPES)[number];

/** All pipes are open before the server hears of the call, so that none seems to have ended. */
const script = (folder: string): string => `#!/bin/sh
cd ${quoted(folder)} || exit 1
exec 6>called 7>in 8<out 9<err || exit 1
cat <&3 >&7 6>&- 8<&- 9<&- & in=$!
cat <&8 >&4 6>&- 7>&- 9<&- & out=$!
cat <&9 >&2 6>&- 7>&- 8<&- & err=$!
exec 7>&- 8<&- 9<&-
printf '%s\\0' "$@" >arguments && echo go >&6
wait "$out" "$err"
kill "$in" 2>/dev/null
exit 0
`;

export async function openLauncher(shop: Workshop, job: LauncherJob): Promise<SandboxLauncher> {
  const folder = mkdtempSync(join(shop.folder, "launch-"));
  const path = join(folder, "launch");
  const at = (name: string): string => join(folder, name);
  await promisify(execFile)("mkfifo", ["-m", "600", ...PIPES.map(at)]);
  writeFileSync(path, script(folder), { mode: 0o700 });
  // Both ends at once, so that opening one of them later does not wait for the other.
  const both = new Map<Pipe, number>(
    PIPES.map((name) => [name, openSync(at(name), constants.O_RDWR | constants.O_NONBLOCK)]),
  );
  const letGo = (): void => {
    for (const fd of both.values()) closeSync(fd);
    both.clear();
  };
  const called = new Socket({
    fd: openSync(at("called"), constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
    writable: false,
  });
  let box: Box | null = null;
  let closed = false;
  const start = async (): Promise<void> => {
    const opened = {
      in: openSync(at("in"), "r"),
      out: openSync(at("out"), "w"),
      err: openSync(at("err"), "w"),
    };
    letGo();
    try {
      const argv = [job.program, ...readFileSync(at("arguments"), "utf8").split("\0").slice(0, -1)];
      ({ box } = await buildBox(shop, { ...job, argv }, [
        "ignore",
        opened.err,
        opened.err,
        opened.in,
        opened.out,
      ]));
      if (closed) box.kill();
    } catch (cause) {
      writeSync(opened.err, `${faultOf(cause).message}\n`);
    } finally {
      for (const fd of Object.values(opened)) closeSync(fd);
    }
  };
  let starting: Promise<void> = Promise.resolve();
  called.once("data", () => {
    starting = start();
  });
  called.on("error", () => undefined);
  // The client ended the program file: what it had started must not go on.
  called.once("close", () => {
    starting.finally(() => box?.kill()).catch(() => undefined);
  });
  return {
    path,
    async close() {
      closed = true;
      letGo();
      called.destroy();
      await starting;
      box?.kill();
      await box?.ended.catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
