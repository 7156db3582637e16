// A long-running program: its sandbox, its streams, and how it ended.
import { pipeline, Transform, type Readable, type Writable } from "node:stream";
import { AppError } from "../../../contract/errors.ts";
import type { Sandbox, SandboxEnd, SandboxProcess } from "../sandbox.ts";
import type { BoxEnd } from "./box.ts";
import { NO_EXEC } from "./run.ts";
import { buildBox, type Workshop } from "./workshop.ts";

type OpenJob = Parameters<Sandbox["open"]>[0];

/** The launcher's error message is short. */
const KEPT_CHARACTERS = 4_096;

export async function openProcess(shop: Workshop, job: OpenJob): Promise<SandboxProcess> {
  if (job.signal.aborted)
    throw new AppError(
      "CANCELLED",
      "user",
      "The program was not started: it was cancelled before.",
    );
  const { box } = await buildBox(shop, job, ["pipe", "pipe", "pipe"]);
  const { child } = box;
  const stdout = child.stdout as Readable;
  const first = keepFirst();
  // Its errors mean that the program ended, which is reported elsewhere.
  const stderr = pipeline(child.stderr as Readable, first.stream, () => undefined);
  let stopped = false;
  const kill = (): void => {
    stopped = true;
    box.kill();
    // A stream without a reader would never close, and its end is awaited.
    stdout.destroy();
    child.stderr?.destroy();
    child.stdin?.destroy();
  };
  job.signal.addEventListener("abort", kill, { once: true });
  if (job.signal.aborted) kill();
  const entry: { kill(): void; ended: typeof box.ended } = { kill, ended: box.ended };
  shop.open.add(entry);
  const ended = box.ended
    .then((end) => endOf(end, stopped, first.text()))
    .catch((): SandboxEnd => ({ exitCode: null, oom: false, reason: "the sandbox failed" }))
    .finally(() => {
      shop.open.delete(entry);
      job.signal.removeEventListener("abort", kill);
    });
  return { pid: child.pid ?? 0, stdin: child.stdin as Writable, stdout, stderr, ended, kill };
}

function endOf(
  { exitCode, oom, overfull, unbuilt }: BoxEnd,
  stopped: boolean,
  output: string,
): SandboxEnd {
  if (stopped) return { exitCode: null, oom, reason: "it was stopped" };
  if (overfull) return { exitCode: null, oom, reason: "it put more on the disk than it may" };
  if (oom) return { exitCode, oom, reason: "it used more memory than it may" };
  if (!unbuilt)
    return { exitCode, oom, reason: `it ended with exit code ${exitCode ?? "unknown"}` };
  // Only the launcher can end without an exit code, so the message is not that of a program inside.
  const [, program, why = ""] = NO_EXEC.exec(output) ?? [];
  const reason =
    program === undefined
      ? `the sandbox could not be built: ${output.trim()}`
      : `${program}: ${why}`;
  return { exitCode: null, oom, reason };
}

/** Passes everything on and keeps its beginning. */
function keepFirst(): { readonly stream: Transform; text(): string } {
  let kept = "";
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (kept.length < KEPT_CHARACTERS)
        kept += chunk.toString("latin1", 0, KEPT_CHARACTERS - kept.length);
      done(null, chunk);
    },
  });
  return { stream, text: () => kept };
}
