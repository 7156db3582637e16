// Whether a box really closes here, and how well it limits what runs in it: found out by running something in one.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSandbox } from "../../reach/sandbox/sandbox.ts";
import type { DoctorFinding } from "./finding.ts";

export async function checkSandbox(): Promise<DoctorFinding> {
  const name = "sandbox";
  const folder = mkdtempSync(join(tmpdir(), "ostiary-doctor-"));
  const sandbox = openSandbox({ folder, path: process.env["PATH"] ?? "" });
  try {
    await sandbox.probed;
    const { ready, reason, fix, limits, version } = sandbox.status;
    if (!ready) {
      const detail = `${reason ?? "it does not work"}; tools that need one are refused`;
      return { name, status: "missing", detail, ...(fix === null ? {} : { fix }) };
    }
    const summary = `${sandbox.kind} ${version ?? ""} works`.replace("  ", " ");
    if (limits !== "weak") return { name, status: "ok", detail: `${summary}, limits by ${limits}` };
    return {
      name,
      status: "warning",
      detail: `${summary}, but with weak limits: no cgroup can be had, so memory and processors are shared without bound`,
      fix: "run the server as a service with Delegate=yes, or as root",
    };
  } finally {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
