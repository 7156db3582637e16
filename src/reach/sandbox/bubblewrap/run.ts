// One job: start, feed, collect, end. Resolves when the last process is gone.
import type { Readable, Writable } from "node:stream";
import { AppError } from "../../../contract/errors.ts";
import { release } from "../../../util/release.ts";
import type { SandboxJob, SandboxResult } from "../sandbox.ts";
import { Output } from "./output.ts";
import { buildBox, type Workshop } from "./workshop.ts";

/** The launcher's message that the program does not exist or cannot be executed. */
export const NO_EXEC = /^bwrap: execvp (.*): ([^:\n]+)\n$/m;
const NO_FOLDER = /^bwrap: Can't chdir to /m;

export async function runJob(shop: Workshop, job: SandboxJob): Promise<SandboxResult> {
  const began = performance.now();
  const stopped = (): SandboxResult => ({
    stdout: new Uint8Array(),
    stderr: new Uint8Array(),
    exitCode: null,
    signal: "SIGKILL",
    oom: false,
    overflowed: false,
    overfull: false,
    durationMs: performance.now() - began,
  });
  if (job.signal.aborted) return stopped();
  const { box, limits } = await buildBox(shop, job, ["pipe", "pipe", "pipe"]);
  let killed = false;
  const kill = (): void => {
    killed = true;
    box.kill();
  };
  job.signal.addEventListener("abort", kill, { once: true });
  if (job.signal.aborted) kill();
  const outputs = {
    stdout: new Output(limits.outputBytes),
    stderr: new Output(limits.outputBytes),
  };
  let room = limits.outputBytes;
  let overflowed = false;
  for (const name of ["stdout", "stderr"] as const) {
    (box.child[name] as Readable).on("data", (chunk: Uint8Array) => {
      if (overflowed) return release(chunk);
      const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
      room -= kept.length;
      outputs[name].add(kept);
      if (kept.length > 0) job.onOutput?.(name, kept);
      overflowed = kept.length < chunk.length;
      if (overflowed) kill();
      release(chunk);
    });
  }
  (box.child.stdin as Writable).end(job.stdin ?? "");
  const { exitCode, oom, overfull, unbuilt } = await box.ended.finally(() =>
    job.signal.removeEventListener("abort", kill),
  );
  const stdout = outputs.stdout.bytes;
  const stderr = outputs.stderr.bytes;
  const durationMs = performance.now() - began;
  const rest = { oom, overflowed, overfull, durationMs };
  if (killed || overfull) return { stdout, stderr, exitCode: null, signal: "SIGKILL", ...rest };
  if (!unbuilt) return { stdout, stderr, exitCode, signal: null, ...rest };
  return { stdout, ...notExecuted(new TextDecoder().decode(stderr)), signal: null, ...rest };
}

/** Only the launcher can end without an exit code, so the message is not that of a program inside. */
function notExecuted(output: string): { readonly stderr: Buffer; readonly exitCode: number } {
  const [, program, why = ""] = NO_EXEC.exec(output) ?? [];
  // The codes of a shell: 127 not found, 126 not executable.
  if (program !== undefined)
    return {
      stderr: Buffer.from(`${program}: ${why}\n`),
      exitCode: why.startsWith("No such") ? 127 : 126,
    };
  if (NO_FOLDER.test(output))
    throw new AppError(
      "BAD_REQUEST",
      "invalid_arguments",
      "cwd: expected a folder that exists inside the sandbox",
      { remedy: "name an existing folder", cause: new Error(output) },
    );
  throw new AppError(
    "UNAVAILABLE",
    "sandbox_unavailable",
    "The sandbox could not be built for this job.",
    { remedy: "see `ostiary doctor` and the server's log", cause: new Error(output) },
  );
}
