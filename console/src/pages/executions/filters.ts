// What the list is narrowed by. It lives in the address, so that a view can be sent to others.
import type { Inputs } from "../../api/client.ts";

export type HistoryInput = Exclude<Inputs["tools"]["getToolHistory"], void | undefined>;
type Status = NonNullable<HistoryInput["status"]>;

export const STATUSES = [
  "running",
  "pending",
  "success",
  "failed",
  "cancelled",
] as const satisfies readonly Status[];

/** The word that the badge of a status shows, where it is another one. */
export const statusWord = (status: string): string => (status === "pending" ? "waiting" : status);

export const FIELDS = {
  toolName: "Tool",
  category: "Category",
  status: "Status",
  userId: "User",
  errorCode: "Error code",
  sessionId: "Session",
  traceId: "Trace",
  startDate: "From",
  endDate: "Until",
  search: "Text",
} as const;

export type Field = keyof typeof FIELDS;
export type Filters = { readonly [F in Field]?: string };

const fieldNames = Object.keys(FIELDS) as Field[];

const SHAPES: Partial<Record<Field, RegExp>> = {
  status: new RegExp(`^(?:${STATUSES.join("|")})$`),
  traceId: /^[0-9a-f]{32}$/,
  startDate: /^\d{4}-\d{2}-\d{2}/,
  endDate: /^\d{4}-\d{2}-\d{2}/,
};

/** What an address says, without what no filter can be. */
export function filtersOf(search: Readonly<Record<string, unknown>>): Filters {
  const entries = fieldNames.flatMap((name): [Field, string][] => {
    const given = search[name];
    const text = typeof given === "string" || typeof given === "number" ? String(given).trim() : "";
    const isFit = text !== "" && text.length <= 200 && (SHAPES[name]?.test(text) ?? true);
    return isFit ? [[name, text]] : [];
  });
  return Object.fromEntries(entries);
}

export const activeFilters = (filters: Filters): readonly (readonly [Field, string])[] =>
  fieldNames.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [[name, value] as const];
  });

/** Administrators see everybody's where no user is named. */
export function historyInput(
  { status, search, ...filters }: Filters,
  isAdmin: boolean,
): HistoryInput {
  return {
    ...(isAdmin ? { userId: "*" } : {}),
    ...filters,
    ...(search === undefined ? {} : { errorText: search }),
    ...(status === undefined ? {} : { status: status as Status }),
  };
}

/** What the events of the live stream cannot answer: then the newest page is asked for instead. */
const ONLY_SERVER_KNOWS: readonly Field[] = ["search", "sessionId", "traceId"];

export const isKnownFromEvents = (filters: Filters): boolean =>
  ONLY_SERVER_KNOWS.every((name) => filters[name] === undefined);

export interface Comparable {
  readonly toolName: string;
  readonly category: string;
  readonly status: string;
  readonly userId: string;
  readonly errorCode?: string | undefined;
  readonly startTime: string;
}

/** Whether a new execution belongs into the list. */
export function isAmong(filters: Filters, row: Comparable): boolean {
  const { startDate, endDate } = filters;
  const isEqual = (["toolName", "category", "status", "userId", "errorCode"] as const).every(
    (name) => filters[name] === undefined || filters[name] === row[name],
  );
  const at = Date.parse(row.startTime);
  return (
    isEqual &&
    (startDate === undefined || at >= Date.parse(startDate)) &&
    (endDate === undefined || at <= endOf(endDate))
  );
}

const DAY_MS = 86_400_000;
const endOf = (date: string): number =>
  date.length === 10 ? Date.parse(date) + DAY_MS - 1 : Date.parse(date);
