// How workflow tools show a run: the same fields in execute and status.
import { z } from "zod";

const fault = z.strictObject({
  code: z.string(),
  reason: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
});

export const runStatus = z.enum(["running", "pending", "success", "failed", "cancelled"]);
export const pendingApproval = z.strictObject({ id: z.string(), expiresAt: z.string() });

export const stepShape = z.strictObject({
  id: z.string(),
  executionId: z.string().nullable().describe("The step's own execution, once it was called."),
  status: z.enum(["waiting", "running", "pending", "success", "failed", "cancelled", "skipped"]),
  ms: z.number(),
  error: fault.optional(),
  pendingApproval: pendingApproval.optional().describe("The step waits for a person's yes."),
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
}: Step<S>) {
  return {
    id,
    executionId,
    status,
    ms,
    ...(error ? { error: faultView(error) } : {}),
    ...(held ? { pendingApproval: { ...held } } : {}),
  };
}
