import { api, type Outputs } from "../../api/client.ts";
import { useData, usePages } from "../../api/query.ts";
import { type AuditSearch, FILTERS } from "./routes.ts";

export type LedgerEvent = Outputs["audit"]["searchEvents"]["events"][number];
export const NOUN = "audit";
const PAGE = 100;

export const filtersOf = (search: AuditSearch) =>
  Object.fromEntries(
    FILTERS.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])),
  ) as Partial<Record<(typeof FILTERS)[number], string>>;

export function useEvents(search: AuditSearch) {
  const filters = filtersOf(search);
  const { order = "newest" } = search;
  return usePages([NOUN, "list", filters, order], async ({ after }, signal) => {
    const { events, next } = await api.audit.searchEvents.query(
      { ...filters, order, limit: PAGE, ...(after === undefined ? {} : { after: Number(after) }) },
      { signal },
    );
    return { items: events, next: next === null ? null : String(next) };
  });
}

/** One event by its number; null when it is not there, or is another tenant's. */
export const useEvent = (seq: number | undefined) =>
  useData(
    [NOUN, "event", seq],
    async (signal): Promise<LedgerEvent | null> => {
      const { events } = await api.audit.searchEvents.query(
        { order: "oldest", limit: 1, after: (seq ?? 1) - 1 },
        { signal },
      );
      return events[0]?.seq === seq ? (events[0] ?? null) : null;
    },
    { enabled: seq !== undefined },
  );

const NAMES = [
  "toolName",
  "version",
  "approvalId",
  "name",
  "id",
  "userId",
  "keyId",
  "sensor",
  "mode",
];

/** What the event is about, in a few words. */
export function objectOf({ executionId, body }: LedgerEvent): string {
  const fields = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const said = NAMES.flatMap((name) => {
    const value = fields[name];
    return typeof value === "string" || typeof value === "number"
      ? [name === "version" ? `version ${value}` : String(value)]
      : [];
  });
  return said[0] ?? executionId ?? "";
}
