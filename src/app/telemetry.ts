// Opens what watches calls: spans where there is a collector, lines of the log where they are wanted.
import type { Config } from "../config.ts";
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
  readonly lines: CallLogPowers["log"];
}

export async function openTelemetry(p: TelemetryParts): Promise<Telemetry> {
  const { telemetry, log } = p.config;
  const tracing = await openTracing(telemetry, p);
  const wanted = log.level === "silent" || log.level === "error" ? "none" : log.calls;
  const lines = callLog(wanted, { log: p.lines, masked: p.masked });
  return { tracing, observe: observers([tracing.on ? tracing.observe : null, lines]) };
}
