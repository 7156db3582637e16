// How workflow tools show a run: the same fields in execute and status.
import { z } from "zod";

const fault = z.strictObject({
  code: z.string(),
  reason: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
});

export const runStatus = z.enum(["running", "pending", "paused", "success", "failed", "cancelled"]);
export const pendingApproval = z.strictObject({ id: z.string(), expiresAt: z.string() });

export const stepShape = z.strictObject({
  id: z.string(),
  executionId: z.string().nullable().describe("The step's own execution, once it was called."),
  status: z.enum([...runStatus.options, "skipped", "waiting"]),
  ms: z.number(),
  error: fault.optional(),
  pendingApproval: pendingApproval.optional().describe("The step waits for a person's yes."),
  attempt: z.int().optional().describe("From 1; more where the step was tried again."),
  wakesAt: z
    .string()
    .optional()
    .describe("When its wait, or the pause before another attempt, is over."),
  childRunId: z.string().optional().describe("Run of the workflow that the step runs."),
  questionId: z.string().optional().describe("The question that a person is asked."),
  waitsForEvent: z.string().optional().describe("Name of the event that it waits for."),
});

interface Fault {
  readonly code: string;
  readonly reason: string;
  readonly message: string;
  readonly remedy?: string;
}

interface Step<S extends string> {
  readonly id: string;
  readonly executionId: string | null;
  readonly status: S;
  readonly ms: number;
  readonly error?: Fault;
  readonly pendingApproval?: { readonly id: string; readonly expiresAt: string };
  readonly attempt?: number;
  readonly wakeAt?: number;
  readonly childRunId?: string;
  readonly questionId?: string;
  readonly eventName?: string;
}

const faultView = ({ code, reason, message, remedy }: Fault) => ({
  code,
  reason,
  message,
  ...(remedy === undefined ? {} : { remedy }),
});

export function stepView<S extends string>({
  id,
  executionId,
  status,
  ms,
  error,
  pendingApproval: held,
  attempt,
  wakeAt,
  childRunId,
  questionId,
  eventName,
}: Step<S>) {
  return {
    id,
    executionId,
    status,
    ms,
    ...(error ? { error: faultView(error) } : {}),
    ...(held ? { pendingApproval: { ...held } } : {}),
    ...(attempt === undefined ? {} : { attempt }),
    ...(wakeAt === undefined ? {} : { wakesAt: new Date(wakeAt).toISOString() }),
    ...(childRunId === undefined ? {} : { childRunId }),
    ...(questionId === undefined ? {} : { questionId }),
    ...(eventName === undefined ? {} : { waitsForEvent: eventName }),
  };
}
