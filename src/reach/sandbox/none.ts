// No sandbox on this system: every job is refused, nothing runs unconfined.
import { AppError } from "../../contract/errors.ts";
import type { Sandbox, SandboxStatus } from "./sandbox.ts";

const FIX =
  "run the server on Linux with bubblewrap (apt install bubblewrap), or see `ostiary doctor --fix`";

export function unavailable(status: Pick<SandboxStatus, "reason" | "fix">): AppError {
  const message = `This needs a sandbox, and there is none: ${status.reason ?? "it did not start"}.`;
  return new AppError("UNAVAILABLE", "sandbox_unavailable", message, {
    remedy: status.fix ?? FIX,
  });
}

export function noSandbox(
  reason = `no sandbox is known for ${process.platform}`,
  fix = FIX,
): Sandbox {
  const status: SandboxStatus = { ready: false, reason, fix, limits: "weak", version: null };
  return {
    kind: "none",
    status,
    probed: Promise.resolve(status),
    run: () => Promise.reject(unavailable(status)),
    open: () => Promise.reject(unavailable(status)),
    launcher: () => Promise.reject(unavailable(status)),
    close: () => Promise.resolve(),
  };
}
