// Runs an operation of an HTTP API: the answer comes from another program and is not trusted.
import type { Call, Json, JsonObject } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { ApiResponse } from "../../reach/http-api/call.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import { UpstreamFault } from "../../reach/upstream/upstream.ts";
import { exhaustedBy } from "../../util/exhaustion.ts";
import { exhaustedFailure, failure, unexpectedFailure } from "./failure.ts";
import type { Runner, RunResult } from "./index.ts";
import { attemptsOf, faultOfUpstream } from "./mcp.ts";

export interface ExternalRunnerPowers {
  /** Throws UpstreamFault or AppError. */
  readonly call: (call: Call) => Promise<ApiResponse>;
  /** Null when the output fits the schema that was approved. */
  readonly checkOutput: (
    schema: JsonObject,
    output: Json,
  ) => readonly { path: string; message: string }[] | null;
  readonly masker: Pick<Masker, "resultInSlices" | "shownText">;
  readonly report: (call: Call, cause: unknown) => void;
}

export function externalRunner(p: ExternalRunnerPowers): Runner {
  return async (call) => {
    const server = call.tool?.route?.server ?? "";
    try {
      return await finish(call, await p.call(call), server, p);
    } catch (cause) {
      return caught(call, cause, { untrusted: true, server, ...attemptsOf(cause) }, p);
    }
  };
}

async function finish(
  call: Call,
  { output, host, status, attempts }: ApiResponse,
  server: string,
  p: ExternalRunnerPowers,
): Promise<RunResult> {
  const notes = {
    untrusted: true,
    server,
    hosts: [host],
    status,
    ...(attempts > 1 ? { attempts } : {}),
  };
  const schema = call.tool?.outputSchema;
  const faults = schema ? p.checkOutput(schema, output) : null;
  if (faults !== null)
    return failure(
      {
        code: "EXECUTION_FAILED",
        reason: "output_invalid",
        message: `Execution error: the answer of ${call.tool?.name} does not fit the schema it promised (${faults[0]?.path || "/"}: ${p.masker.shownText(faults[0]?.message ?? "")})`,
        remedy: "an administrator can import the API without the schemas of its answers",
      },
      notes,
    );
  const { answer, recorded, masked } = await p.masker.resultInSlices(output);
  return {
    output: answer,
    recorded,
    error: null,
    metadata: masked > 0 ? { ...notes, masked } : notes,
  };
}

function caught(call: Call, cause: unknown, notes: JsonObject, p: ExternalRunnerPowers): RunResult {
  // The API's own description of a failure, where it sent one.
  const failed = cause instanceof UpstreamFault && "apiError" in cause ? cause.apiError : cause;
  if (failed instanceof AppError) return failure(withoutSecrets(failed.fault, p), notes);
  if (failed instanceof UpstreamFault)
    return failure(faultOfUpstream(failed, asAsked(call.tool), p), notes);
  if (!call.signal.aborted) p.report(call, cause);
  const exhausted = exhaustedBy(cause);
  if (exhausted !== null) return exhaustedFailure(exhausted, notes);
  return unexpectedFailure("call", notes);
}

/** A method that promises to change nothing (RFC 9110) leaves nothing unknown behind, whatever it counts as here. */
function asAsked(tool: Tool | null): Tool | null {
  const method = tool?.route?.operation?.["method"];
  return tool && (method === "GET" || method === "HEAD") ? { ...tool, effects: "read_only" } : tool;
}

function withoutSecrets(fault: Fault, { masker }: ExternalRunnerPowers): Fault {
  const { remedy } = fault;
  return {
    ...fault,
    message: masker.shownText(fault.message),
    ...(remedy === undefined ? {} : { remedy: masker.shownText(remedy) }),
  };
}
