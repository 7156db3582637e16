// The one description of an execution's row: where each field comes from in an event's body, its column and its type.
// The message to the writer thread, the statements of both databases and their values are made from it when this file
// is loaded.
import type { CancelReason, Status } from "../../contract/call.ts";
import type { WrittenEnd, WrittenStart } from "./body.ts";
import type { Flat } from "./group.ts";

export type ColumnType = "text" | "bigint" | "float8";

interface Field {
  /** Reads and checks it. */
  readonly from: (body: never) => Flat;
  /** A field of the event that usually has the same value: then the value need not travel twice. */
  readonly sameAs?: "actor" | "at";
  readonly column?: string;
  readonly type?: ColumnType;
  /**
   * When a held call starts again: the column keeps its value, or keeps it where the new one is null. Else it is
   * replaced.
   */
  readonly onRestart?: "keep" | "keep if null";
  /** Rows of earlier releases have null in it. */
  readonly isLater?: true;
}

export const START_FIELDS = {
  userId: {
    from: (body: WrittenStart) => text(body.userId, "userId"),
    sameAs: "actor",
    column: "user_id",
    type: "text",
    onRestart: "keep",
  },
  toolName: {
    from: (body: WrittenStart) => text(body.toolName, "toolName"),
    column: "tool_name",
    type: "text",
    onRestart: "keep",
  },
  category: {
    from: (body: WrittenStart) => text(body.category, "category"),
    column: "category",
    type: "text",
    onRestart: "keep",
  },
  status: { from: (body: WrittenStart): Status => body.status, column: "status", type: "text" },
  startMs: {
    from: (body: WrittenStart) => integer(body.startTime, "startTime"),
    sameAs: "at",
    column: "start_ms",
    type: "bigint",
  },
  timeoutMs: {
    from: (body: WrittenStart) => integer(body.timeout, "timeout"),
    column: "timeout_ms",
    type: "bigint",
  },
  instanceId: {
    from: (body: WrittenStart) => text(body.instanceId, "instanceId"),
    column: "instance_id",
    type: "text",
  },
  approvalId: {
    from: (body: WrittenStart) => textOrNull(body.approvalId, "approvalId"),
    column: "approval_id",
    type: "text",
    onRestart: "keep if null",
  },
  sessionId: {
    from: (body: WrittenStart) => textOrNull(body.sessionId, "sessionId"),
    column: "session_id",
    type: "text",
    isLater: true,
  },
  /** The beginning of the trace id as a number: enough to find it by. */
  traceKey: {
    from: (body: WrittenStart) => traceKeyOf(body.traceId),
    column: "trace_key",
    type: "bigint",
    isLater: true,
  },
} as const satisfies Record<string, Field>;

/** Those without a column are for the rollups: their columns were set by the start. */
export const END_FIELDS = {
  status: { from: endStatus, column: "status", type: "text" },
  userId: { from: (body: WrittenEnd) => text(body.userId, "userId"), sameAs: "actor" },
  toolName: { from: (body: WrittenEnd) => text(body.toolName, "toolName") },
  category: { from: (body: WrittenEnd) => text(body.category, "category") },
  cancelReason: {
    from: cancelReasonOf,
    column: "cancel_reason",
    type: "text",
  },
  errorCode: {
    from: (body: WrittenEnd) => textOrNull(body.errorCode, "errorCode"),
    column: "error_code",
    type: "text",
    isLater: true,
  },
  startMs: { from: (body: WrittenEnd) => integer(body.startTime, "startTime"), sameAs: "at" },
  endMs: {
    from: (body: WrittenEnd) => integer(body.endTime, "endTime"),
    sameAs: "at",
    column: "end_ms",
    type: "bigint",
  },
  durationMs: {
    from: (body: WrittenEnd) => finite(body.executionTime, "executionTime"),
    column: "duration_ms",
    type: "float8",
  },
} as const satisfies Record<string, Field>;

type Values<Fields extends Record<string, Field>> = {
  readonly [Name in keyof Fields]: ReturnType<Fields[Name]["from"]>;
};

/** What a start event says of its execution. */
export interface StartedExecution extends Values<typeof START_FIELDS> {
  /** 0 until the writer gives the event its number. */
  seq: number;
  readonly tenantId: string;
  /** Counted when the row takes this start; nothing while it is held. */
  readonly budget: Amounts | null;
  /** Its reservation becomes use. */
  readonly reserved: boolean;
}

/** What an end event says of its execution. */
export interface EndedExecution extends Values<typeof END_FIELDS> {
  seq: number;
  /**
   * An event that ended with the same text, perhaps this one. Null in successful ones, and until the writer knows it.
   */
  errorSeq: number | null;
  readonly tenantId: string;
  /** Message and reason of an unsuccessful end, as JSON; null when they are long. */
  readonly errorText: string | null;
  /** Corrects what the start counted. */
  readonly budget: Amounts | null;
}

/** Per metric; a wrong one would spoil the sums of a whole tenant, so each is checked. */
export type Amounts = Readonly<Record<string, number>>;

type ColumnsOf<Fields extends Record<string, Field>, Absent> = {
  -readonly [
    Name in keyof Fields as Fields[Name] extends { readonly column: infer C extends string }
      ? C
      : never
  ]: ReturnType<Fields[Name]["from"]> | Absent;
};
type StartColumns = ColumnsOf<typeof START_FIELDS, never>;
type EndColumns = ColumnsOf<typeof END_FIELDS, null>;

/** The table as Kysely sees it. */
export interface ExecutionsTable extends StartColumns, Omit<EndColumns, keyof StartColumns> {
  /** Number of the first event; ties of start_ms are ordered by it. */
  seq: number;
  id: string;
  tenant_id: string;
  start_seq: number;
  end_seq: number | null;
  /** Null in successful ones, and in rows of earlier releases. */
  error_seq: number | null;
}

/** A column beside `id`, and the fields that its value comes from. That of the end wins. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly start: keyof StartedExecution | null;
  readonly end: keyof EndedExecution | null;
  readonly onRestart: "keep" | "keep if null" | "replace";
  readonly isLater: boolean;
}

const plain = {
  type: "bigint",
  start: null,
  end: null,
  onRestart: "replace",
  isLater: false,
} as const;

export const COLUMNS: readonly Column[] = [
  { ...plain, name: "seq", start: "seq", onRestart: "keep" },
  { ...plain, name: "start_seq", start: "seq" },
  { ...plain, name: "tenant_id", type: "text", start: "tenantId", onRestart: "keep" },
  ...columnsOf(),
  { ...plain, name: "end_seq", end: "seq" },
  { ...plain, name: "error_seq", end: "errorSeq", isLater: true },
];

/** Those that an end sets in a row that is there. */
export const END_COLUMNS: readonly Column[] = COLUMNS.filter(({ end }) => end !== null);

function columnsOf(): Column[] {
  const columns = new Map<string, Column>();
  const add = (fields: Readonly<Record<string, Field>>, from: "start" | "end"): void => {
    for (const [key, { column: name, type = "text", onRestart, isLater }] of Object.entries(
      fields,
    )) {
      if (name === undefined) continue;
      const known = columns.get(name) ?? { ...plain, name, onRestart: onRestart ?? "replace" };
      columns.set(name, { ...known, type, isLater: isLater ?? false, [from]: key });
    }
  };
  add(START_FIELDS, "start");
  add(END_FIELDS, "end");
  return [...columns.values()];
}

/** The `set` of an upsert: what a start that comes again changes in the row. */
export const restartAssignments = (table: string): string =>
  COLUMNS.filter(({ onRestart }) => onRestart !== "keep")
    .map(({ name, onRestart }) =>
      onRestart === "keep if null"
        ? `${name} = coalesce(excluded.${name}, ${table}.${name})`
        : `${name} = excluded.${name}`,
    )
    .join(", ");

/** Puts the values of all columns into `values`, in their order; answers `values`. */
export function putStartValues(
  values: Flat[],
  start: StartedExecution,
  end: EndedExecution | null,
): Flat[] {
  for (let i = 0; i < COLUMNS.length; i++) {
    const column = COLUMNS[i] as Column;
    if (end !== null && column.end !== null) values[i] = end[column.end] as Flat;
    else values[i] = column.start === null ? null : (start[column.start] as Flat);
  }
  return values;
}

/** Puts the values of END_COLUMNS into `values`, in their order; answers `values`. */
export function putEndValues(values: Flat[], end: EndedExecution): Flat[] {
  for (let i = 0; i < END_COLUMNS.length; i++)
    values[i] = end[(END_COLUMNS[i] as Column).end as keyof EndedExecution] as Flat;
  return values;
}

/** The fields of a table as arrays: they are gone through for every event. */
export interface FieldList<Body, Value> {
  readonly keys: readonly string[];
  readonly sameAs: readonly ("actor" | "at" | null)[];
  /** All fields, empty: copying it and filling it in is as fast as a literal. */
  readonly empty: Value;
  readonly from: readonly ((body: Body) => Flat)[];
}

export const START_LIST = listOf<WrittenStart, StartedExecution>(START_FIELDS, {
  seq: 0,
  tenantId: "",
  budget: null,
  reserved: false,
});
export const END_LIST = listOf<WrittenEnd, EndedExecution>(END_FIELDS, {
  seq: 0,
  errorSeq: null,
  tenantId: "",
  errorText: null,
  budget: null,
});

function listOf<Body, Value>(
  fields: Readonly<Record<string, Field>>,
  others: Partial<Value>,
): FieldList<Body, Value> {
  const entries = Object.entries(fields);
  return {
    keys: entries.map(([key]) => key),
    sameAs: entries.map(([, { sameAs }]) => sameAs ?? null),
    empty: { ...others, ...Object.fromEntries(entries.map(([key]) => [key, null])) } as Value,
    from: entries.map(([, { from }]) => from as (body: Body) => Flat),
  };
}

function endStatus({ status }: WrittenEnd): "success" | "failed" | "cancelled" {
  if (status === "success" || status === "failed" || status === "cancelled") return status;
  throw new TypeError(`an end event has the status ${JSON.stringify(status)}`);
}

function cancelReasonOf({ cancelReason }: WrittenEnd): CancelReason | null {
  const reason: unknown = textOrNull(cancelReason, "cancelReason");
  return reason as CancelReason | null;
}

const TRACE_DIGITS = 12;

/** Null when it is no trace id. A whole one would make every row longer; readers compare the rest. */
export function traceKeyOf(traceId: unknown): number | null {
  if (typeof traceId !== "string") return null;
  const key = Number.parseInt(traceId.slice(0, TRACE_DIGITS), 16);
  return Number.isNaN(key) ? null : key;
}

function text(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`an execution event lacks ${field}`);
}

export function textOrNull(value: unknown, field: string): string | null {
  return value === undefined || value === null ? null : text(value, field);
}

function integer(value: unknown, field: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new TypeError(`an execution event has no whole number in ${field}`);
}

export function finite(value: unknown, field: string): number {
  if (Number.isFinite(value)) return value as number;
  throw new TypeError(`an execution event has no number in ${field}`);
}
