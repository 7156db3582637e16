// Runs a native tool in this process with exactly the powers it declared, and checks what comes back.
import { PartialError, type Call, type Json, type JsonObject } from "../../contract/call.ts";
import { AppError, type Fault, type FieldFault } from "../../contract/errors.ts";
import type { PowerName, ToolPowers } from "../../contract/powers.ts";
import type { ToolContext } from "../../contract/tool.ts";
import { exhaustedBy } from "../../util/exhaustion.ts";
import type { MaskedResult, Masker } from "../../util/secrets/masker.ts";
import { exhaustedFailure, failure, unexpectedFailure } from "./failure.ts";
import type { Runner, RunResult } from "./index.ts";

export interface NativeRunnerPowers {
  readonly powersFor: (needs: readonly PowerName[], call: Call) => Partial<ToolPowers>;
  /** Null when the output fits the tool's own schema; else what does not. */
  readonly checkOutput: (
    schema: JsonObject,
    output: Json,
  ) => readonly { path: string; message: string }[] | null;
  readonly report: (call: Call, cause: unknown) => void;
  readonly masker: Pick<Masker, "resultInSlices" | "shownText">;
}

export function nativeRunner(p: NativeRunnerPowers): Runner {
  return (call) => {
    const native = call.tool?.native;
    if (!native)
      return failure(
        new AppError("UNSUPPORTED_PROVIDER", "native", "this tool has no handler here").fault,
        {},
      );
    const notes: Record<string, Json> = {};
    try {
      const output = native.run(
        call.arguments,
        p.powersFor(native.needs, call),
        contextOf(call, notes, p),
      );
      if (!(output instanceof Promise)) return finish(call, output, notes, p);
      return output.then(
        (value) => finish(call, value, notes, p),
        (cause: unknown) => caught(call, cause, notes, p),
      );
    } catch (cause) {
      return caught(call, cause, notes, p);
    }
  };
}

function contextOf(
  call: Call,
  notes: Record<string, Json>,
  { masker }: NativeRunnerPowers,
): ToolContext {
  const { caller, onProgress } = call;
  return {
    executionId: call.id,
    tenantId: caller.tenantId,
    userId: caller.userId,
    sessionId: call.sessionId,
    permissions: caller.scopes,
    metadata: call.metadata,
    signal: call.signal,
    deadline: call.startedAt + call.timeoutMs,
    trace: call.trace,
    progress: ({ message, ...progress }) =>
      onProgress?.(
        message === undefined ? progress : { ...progress, message: masker.shownText(message) },
      ),
    note: (metadata) => void Object.assign(notes, metadata),
  };
}

function finish(
  call: Call,
  output: Json,
  notes: JsonObject,
  p: NativeRunnerPowers,
): RunResult | Promise<RunResult> {
  const schema = call.tool?.outputSchema;
  const faults = schema ? p.checkOutput(schema, output) : null;
  if (faults === null) return masked(call, output, notes, p);
  p.report(
    call,
    new Error(`output of ${call.tool?.name} does not fit its schema: ${JSON.stringify(faults)}`),
  );
  return failure(
    {
      code: "EXECUTION_FAILED",
      reason: "output_invalid",
      message: "Execution error: the tool's output does not fit its own schema",
    },
    notes,
  );
}

/** What came from outside may contain keys: they leave no tool (tools hand on values, never secrets). */
function masked(
  call: Call,
  output: Json,
  notes: JsonObject,
  p: NativeRunnerPowers,
): RunResult | Promise<RunResult> {
  const done = ({ answer, recorded, masked: count }: MaskedResult): RunResult => {
    const metadata = count > 0 ? { ...notes, masked: count } : notes;
    return { output: answer, recorded, error: null, metadata };
  };
  const result = p.masker.resultInSlices(output);
  if (!(result instanceof Promise)) return done(result);
  // What could not be masked is not handed on.
  return result.then(done, (cause: unknown) => failed(call, cause, notes, p));
}

function caught(
  call: Call,
  cause: unknown,
  notes: JsonObject,
  p: NativeRunnerPowers,
): RunResult | Promise<RunResult> {
  if (cause instanceof PartialError && cause.partial !== null)
    return withPartial(call, cause, notes, p);
  return failed(call, cause, notes, p);
}

/** It failed, with something to show: masked as any output is. */
function withPartial(
  call: Call,
  cause: PartialError,
  notes: JsonObject,
  p: NativeRunnerPowers,
): RunResult | Promise<RunResult> {
  const error = withoutSecrets(cause.fault, p);
  const done = ({ answer, recorded }: MaskedResult): RunResult => ({
    output: answer,
    recorded,
    error,
    metadata: notes,
  });
  const result = p.masker.resultInSlices(cause.partial);
  if (!(result instanceof Promise)) return done(result);
  return result.then(done, (broken: unknown) => failed(call, broken, notes, p));
}

function failed(call: Call, cause: unknown, notes: JsonObject, p: NativeRunnerPowers): RunResult {
  const exhausted = exhaustedBy(cause);
  const noted = exhausted === null ? notes : { ...notes, exhausted };
  if (cause instanceof AppError) return failure(withoutSecrets(cause.fault, p), noted);
  p.report(call, cause);
  if (exhausted !== null) return exhaustedFailure(exhausted, notes);
  return unexpectedFailure("tool", notes);
}

/** Texts of other programs end up in messages. */
function withoutSecrets(fault: Fault, { masker }: NativeRunnerPowers): Fault {
  const { remedy, errors } = fault;
  const field = (one: FieldFault): FieldFault => ({
    ...one,
    message: masker.shownText(one.message),
  });
  return {
    ...fault,
    message: masker.shownText(fault.message),
    ...(remedy === undefined ? {} : { remedy: masker.shownText(remedy) }),
    ...(errors === undefined ? {} : { errors: errors.map(field) }),
  };
}
