// Opens what watches calls: spans where there is a collector, lines of the log where they are wanted.
import type { Config } from "../config/config.ts";
import { callLog } from "../telemetry/call-log.ts";
import { observers, type Observe } from "../telemetry/observer.ts";
import { openTracing, type Tracing } from "../telemetry/tracing.ts";
import { VERSION } from "../util/version.ts";
import type { Base } from "./base.ts";
import type { OpenedRecord } from "./record.ts";

export interface Telemetry {
  readonly tracing: Tracing;
  readonly observe: Observe;
}

export async function openTelemetry(base: Base, record: OpenedRecord): Promise<Telemetry> {
  const { config, dataDir, ids, links, closing } = base;
  const tracing = await openTracing(config.telemetry, {
    version: VERSION,
    instanceId: dataDir.instanceId,
    ids,
    mode: record.mode,
    policyVersion: () => links.policies.get().version,
    sandboxKind: () => links.sandbox.get().kind,
    masked: record.masker.beginning,
    log: record.log,
  });
  closing.defer(() => tracing.close());
  const lines = callLog(wantedLines(config.log), record.callLog);
  return { tracing, observe: observers([tracing.on ? tracing.observe : null, lines]) };
}

/** What the level leaves out is not made in the first place. */
function wantedLines({ level, calls }: Config["log"]): Config["log"]["calls"] {
  if (level === "silent" || level === "error") return "none";
  return level === "warn" && calls === "all" ? "failures" : calls;
}
