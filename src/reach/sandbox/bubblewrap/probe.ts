// A real run at start: an installed program need not work.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AppError, faultOf } from "../../../contract/errors.ts";
import type { SandboxStatus } from "../sandbox.ts";
import { runJob } from "./run.ts";
import type { Workshop } from "./workshop.ts";

/** Below it there is no --disable-userns. */
const LEAST = [0, 8];
const PROBE_MS = 20_000;

export async function probe(shop: Workshop): Promise<SandboxStatus> {
  const limits = shop.cages.kind;
  let version: string | null = null;
  const no = (reason: string, fix: string): SandboxStatus => ({
    ready: false,
    reason,
    fix,
    limits,
    version,
  });
  try {
    const { stdout } = await promisify(execFile)(shop.programs.bwrap, ["--version"], { env: {} });
    version = /\d+\.\d+(\.\d+)?/.exec(stdout)?.[0] ?? null;
    const [major = 0, minor = 0] = (version ?? "").split(".").map(Number);
    if (major === LEAST[0] && minor < (LEAST[1] ?? 0))
      return no(`bubblewrap ${version ?? ""} is too old`, "install bubblewrap 0.8 or newer");
    const result = await runJob(shop, {
      argv: ["/bin/sh", "-c", "echo inside"],
      cwd: "/job",
      env: {},
      mounts: [],
      signal: AbortSignal.timeout(PROBE_MS),
    });
    if (Buffer.from(result.stdout).toString() !== "inside\n")
      return no("a box was built but nothing ran in it", "see `ostiary doctor`");
    return { ready: true, reason: null, fix: null, limits, version };
  } catch (cause) {
    const { message } =
      cause instanceof AppError && cause.cause instanceof Error ? cause.cause : faultOf(cause);
    return no(
      `a box could not be built (${message.trim().slice(0, 200)})`,
      "allow user namespaces to the server's user (kernel.unprivileged_userns_clone=1; on Ubuntu an AppArmor profile for bwrap), or see `ostiary doctor`",
    );
  }
}
