// Whether events can be sent on, and how many wait. The server works without a sink: nothing here is a failure.
import { AppError } from "../../contract/errors.ts";
import { openSink } from "../../storage/events/sink.ts";
import type { DoctorFinding } from "./finding.ts";
import type { Place } from "./place.ts";

const LIMIT_MS = 10_000;

export async function checkSink({ config, owner, reach }: Place): Promise<DoctorFinding> {
  const name = "sink";
  if (!config)
    return { name, status: "warning", detail: "not checked: the configuration is not valid" };
  if (config.sink === "none") return { name, status: "ok", detail: "none: events stay in the log" };
  const sink = await openSink(config.sink);
  const late = AbortSignal.timeout(LIMIT_MS);
  const tooLate = new Promise<never>((_resolve, reject) => {
    late.addEventListener("abort", () => reject(new Error("Kafka does not answer")), {
      once: true,
    });
  });
  try {
    await Promise.race([sink.ping(), tooLate]);
    return {
      name,
      status: "ok",
      detail: `Kafka answers${await backlogText(owner?.url ?? null, reach)}`,
    };
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    const fix =
      (cause instanceof AppError ? cause.fault.remedy : undefined) ??
      "start Kafka, or correct OSTIARY_SINK";
    return {
      name,
      status: "warning",
      detail: `${detail}; events wait in the log${await backlogText(owner?.url ?? null, reach)}`,
      fix,
    };
  } finally {
    await sink.close();
  }
}

/** What a running server says of it. */
async function backlogText(url: string | null, reach: Place["reach"]): Promise<string> {
  const answer = url === null ? null : await reach.readiness(url);
  const reason = answer?.checks.find((check) => check.name === "sink")?.reason;
  return reason === undefined ? "" : ` (the server says: ${reason})`;
}
