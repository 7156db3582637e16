// Schemas that several endpoints share, and the views that fill them. Times leave as ISO 8601 UTC with milliseconds.
import { z } from "zod";
import type { Verdict } from "../../contract/call.ts";
import { MODES, STATUSES } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { fieldFault } from "./endpoint.ts";

export const time = z.string().meta({ format: "date-time", description: "ISO 8601, UTC" });
/** Any object. It is looked at, not copied as a record would be: what a caller sends may hold very many keys. */
export const jsonObject = z
  .unknown()
  .refine(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "expected an object",
  )
  .meta({
    type: "object",
    propertyNames: { type: "string" },
    additionalProperties: {},
  }) as unknown as z.ZodType<Record<string, unknown>, Record<string, unknown>>;
export const status = z.enum(STATUSES);
/** `success` says that the request was served; how a call ended is in `status`. */
export const served = z.literal(true);

export const fieldFaultShape = z.object({
  path: z.string(),
  message: z.string(),
  suggestion: z.string().optional(),
});

export const verdict = z.object({
  stage: z.string(),
  verdict: z.enum(["allow", "deny", "hold"]),
  ms: z.number(),
  code: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  remedy: z.string().optional(),
  rule: z.string().optional(),
  engine: z.string().optional(),
  mode: z.enum(MODES).optional().describe("The operating mode that forbids the call"),
  errors: z.array(fieldFaultShape).optional(),
  retryAfterSeconds: z.number().optional(),
  asks: z.string().optional().describe("The stage agrees, but a person must be asked: why"),
  waives: z.string().optional().describe("The stage takes an earlier question back: which"),
  shadow: z
    .object({ version: z.string(), verdict: z.enum(["allow", "deny"]), reason: z.string() })
    .optional()
    .describe("What a policy in trial would have decided, when it differs"),
  ruleText: z.string().optional().describe("In explanations: the rule as it is written"),
  read: z.unknown().optional().describe("In explanations for administrators: the data it read"),
});

export const executionId = z.string().min(1).max(128).describe("exec_<milliseconds>_<random>");
export const toolName = z.string().min(1).max(128).describe("Canonical name, wire name or alias");

/** Id chosen by an administrator. */
export const chosenId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "1 to 64 of A-Z a-z 0-9 _ -");
export const label = z.string().trim().min(1).max(200);

export const page = z.strictObject({
  limit: z.int().min(1).max(100).default(50),
  after: z.string().min(1).max(256).optional().describe("`next` of the page before"),
});

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** A moment from outside: a date, or a date and time that says its zone. */
export const moment = z
  .string()
  .refine((text) => (DATE.test(text) || DATE_TIME.test(text)) && isRealDate(text), {
    message: "expected an ISO 8601 date or time with zone, e.g. 2026-01-31T08:00:00Z",
  })
  .meta({ format: "date-time" });

/** Date.parse rolls 30 February over to March; such a date is a mistake, not a wish. */
function isRealDate(text: string): boolean {
  const day = Date.parse(text.slice(0, 10));
  return (
    !Number.isNaN(Date.parse(text)) &&
    new Date(day).toISOString().slice(0, 10) === text.slice(0, 10)
  );
}

/** Epoch ms; a date alone means its first moment as a start and its last one as an end. */
export function toMs(text: string, edge: "start" | "end" = "start"): number {
  const ms = Date.parse(text);
  return DATE.test(text) && edge === "end" ? ms + 86_399_999 : ms;
}

export const iso = (ms: number): string => new Date(ms).toISOString();
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

/** Verdicts as they go out: a copy, so that the zod type and the readonly one meet. */
export function gatesView(gates: readonly Verdict[]): z.input<typeof verdict>[] {
  return gates.map(({ errors, ...rest }) => ({
    ...rest,
    ...(errors ? { errors: errors.map((e) => ({ ...e })) } : {}),
  }));
}

export const toolNotFound = (name: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Tool '${name}' not found`, {
    remedy: "list the tools you may use: GET /api/v1/tools",
  });

export const executionNotFound = (id: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Execution '${id}' not found`, {
    remedy: "list your executions: GET /api/v1/executions",
  });

/** What was left out of a value of which only the beginning is there. */
export const cutShape = z.object({
  size: z.int().describe("Bytes of the whole as JSON"),
  sha256: z.string().describe("Of the whole as canonical JSON (RFC 8785)"),
});

/** Opaque cursor over ids. */
export const cursorOf = (id: string): string => Buffer.from(`1:${id}`).toString("base64url");

export function idOfCursor(cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString("utf8");
  if (!text.startsWith("1:") || cursorOf(text.slice(2)) !== cursor) {
    throw fieldFault("/after", "not a cursor of this list", "pass `next` of the page before");
  }
  return text.slice(2);
}

/** One page of a list that answers rows after an id; one row more than asked shows whether there is a next page. */
export async function pageOf<R extends { readonly id: string }, V>(
  input: z.output<typeof page>,
  rows: (page: { limit: number; after?: string }) => Promise<R[]>,
  view: (row: R) => V,
): Promise<{ items: V[]; next: string | null }> {
  const after = input.after === undefined ? {} : { after: idOfCursor(input.after) };
  const found = await rows({ limit: input.limit + 1, ...after });
  const shown = found.slice(0, input.limit);
  const last = shown.at(-1);
  return {
    items: shown.map(view),
    next: found.length > input.limit && last ? cursorOf(last.id) : null,
  };
}

/** Without the fields that are null: absent on the wire. */
export function present<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
