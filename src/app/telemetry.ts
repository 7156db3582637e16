// Opens what watches calls: spans where there is a collector, lines of the log where they are wanted.
import type { Config } from "../config/config.ts";
import { callLog, type CallLogPowers } from "../telemetry/call-log.ts";
import { observers, type Observe } from "../telemetry/observer.ts";
import { openTracing, type Tracing, type TracingPowers } from "../telemetry/tracing.ts";

export interface Telemetry {
  readonly tracing: Tracing;
  readonly observe: Observe;
}

export interface TelemetryParts extends TracingPowers {
  readonly config: Pick<Config, "telemetry" | "log">;
  /** Lines about calls. They name other people's calls, so no tool reads them back. */
  readonly lines: CallLogPowers;
}

export async function openTelemetry(p: TelemetryParts): Promise<Telemetry> {
  const { telemetry, log } = p.config;
  const tracing = await openTracing(telemetry, p);
  const lines = callLog(wantedLines(log), p.lines);
  return { tracing, observe: observers([tracing.on ? tracing.observe : null, lines]) };
}

/** What the level leaves out is not made in the first place. */
function wantedLines({ level, calls }: Config["log"]): Config["log"]["calls"] {
  if (level === "silent" || level === "error") return "none";
  return level === "warn" && calls === "all" ? "failures" : calls;
}
