// The caller's notes. The namespace is derived from the caller, so that no argument can name another user's.
import type { Call, Json } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { Store } from "../../../storage/store/store.ts";
import type { StorePower } from "../../../contract/powers/store.ts";
import { parseTextQuery, snippetOf, textOfJson } from "../../../util/text/words.ts";
import { untilAborted } from "../aborted.ts";
import type { Documentation } from "./documentation.ts";

export interface StoreSettings {
  readonly memory: Store["memory"];
  readonly documentation: Documentation;
  readonly now: () => number;
}

const MAX_VALUE_BYTES = 262_144;
const MAX_SHOWN_KEYS = 50;

export function storePower(
  settings: StoreSettings,
): (call: Call, signal: AbortSignal) => StorePower {
  const { documentation } = settings;
  return (call, signal) =>
    untilAborted<StorePower>(
      {
        ...memoryWrites(call, settings),
        ...memoryReads(call, settings),
        documentation: (query, options) => documentation.search(query, options),
      },
      signal,
    );
}

function memoryWrites(
  call: Call,
  { memory, now }: StoreSettings,
): Pick<StorePower, "memoryPut" | "memoryClear"> {
  return {
    async memoryPut({ key, namespace, value, tags = [], ttlSeconds, ifVersion }) {
      const place = placeOf(call, namespace);
      requireSize(value);
      const at = now();
      const expiresAt = ttlSeconds === undefined ? null : at + ttlSeconds * 1_000;
      const stored = await memory.put({
        tenantId: call.caller.tenantId,
        namespace: place.stored,
        key,
        value,
        tags,
        at,
        expiresAt,
        ...(ifVersion !== undefined && { ifVersion }),
      });
      if (!stored) {
        throw new AppError(
          "CONFLICT",
          "stale",
          `key ${JSON.stringify(key)} does not have version ${ifVersion ?? 0}`,
          { remedy: "retrieve the entry and repeat with its version" },
        );
      }
      return { namespace: place.shown, ...stored, expiresAt };
    },
    async memoryClear({ namespace, key, tags, dryRun }) {
      const { filter } = filterOf(call, { namespace, tags, now: now() });
      return memory.clear(
        { ...filter, dryRun, ...(key === undefined ? {} : { key }) },
        MAX_SHOWN_KEYS,
      );
    },
  };
}

function memoryReads(
  call: Call,
  { memory, now }: StoreSettings,
): Pick<StorePower, "memoryGet" | "memorySearch" | "memoryList"> {
  return {
    async memoryGet(key, namespace) {
      const place = placeOf(call, namespace);
      const row = await memory.get(call.caller.tenantId, place.stored, key, now());
      return row && { ...row, tags: [...row.tags], namespace: place.shown };
    },
    async memorySearch({ query, namespace, tags, limit, offset }) {
      const { filter, shown } = filterOf(call, { namespace, tags, now: now() });
      const parsed = parseTextQuery(query);
      if (typeof parsed === "string") throw queryInvalid(parsed);
      const { rows, total } = await memory.search({ ...filter, query: parsed }, { limit, offset });
      const results = rows.map(({ value, score, ...row }) => ({
        ...row,
        tags: [...row.tags],
        namespace: shown,
        snippet: snippetOf(textOfJson(value), parsed.all),
        score: Math.round(score * 1e6) / 1e6,
      }));
      return { results, total };
    },
    async memoryList({ namespace, prefix, tags, limit, offset }) {
      const { filter } = filterOf(call, { namespace, tags, now: now() });
      const { rows, total } = await memory.list({ ...filter, prefix }, { limit, offset });
      return { entries: rows.map((row) => ({ ...row, tags: [...row.tags] })), total };
    },
  };
}

function filterOf<T extends { readonly namespace: string | undefined; readonly now: number }>(
  call: Call,
  { namespace, ...rest }: T,
) {
  const { shown, stored } = placeOf(call, namespace);
  return { shown, filter: { tenantId: call.caller.tenantId, namespace: stored, ...rest } };
}

/**
 * The tenant is a column of its own; the rest is one unambiguous text. Session ids come from the caller, so the user
 * is part of them.
 */
function placeOf({ caller, sessionId }: Call, wanted?: string): { shown: string; stored: string } {
  const shown = wanted ?? (sessionId === null ? "user" : "session");
  const place = (...parts: string[]) => ({ shown, stored: JSON.stringify([...parts]) });
  switch (shown) {
    case "session":
      if (sessionId === null) throw missing("session", "send context.sessionId with the call");
      return place("session", caller.userId, sessionId);
    case "user":
      return place("user", caller.userId);
    case "capsule":
      if (caller.capsuleId === null)
        throw missing("capsule", "use a key that is bound to a capsule");
      return place("capsule", caller.capsuleId);
    case "tenant":
      return place("tenant");
    default:
      return place("named", caller.userId, shown);
  }
}

function missing(namespace: string, remedy: string): AppError {
  return new AppError(
    "BAD_REQUEST",
    "invalid_arguments",
    `namespace ${namespace}: the call has no ${namespace}`,
    {
      remedy: `${remedy}, or choose the namespace user`,
      errors: [{ path: "/namespace", message: `the call has no ${namespace}` }],
    },
  );
}

function queryInvalid(why: string): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "query_invalid",
    `the query cannot be understood: ${why}`,
    {
      remedy: 'write words, "a phrase", -word to leave out, or begin* for a beginning',
    },
  );
}

function requireSize(value: Json): void {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= MAX_VALUE_BYTES) return;
  throw new AppError(
    "EXECUTION_FAILED",
    "size_exceeded",
    `the value takes ${bytes} bytes as JSON, at most ${MAX_VALUE_BYTES} are kept`,
    {
      remedy: "store less, or split it over several keys",
    },
  );
}
