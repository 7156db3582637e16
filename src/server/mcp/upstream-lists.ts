// Reads lists of upstream servers, all pages within bounds. A server that does not answer only leaves out its own
// entries.
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Doors } from "../doors.ts";
import { isObject } from "./json-rpc.ts";

export type ListMethod = "resources/list" | "resources/templates/list" | "prompts/list";

const FIELDS: Record<ListMethod, { readonly list: string; readonly keys: readonly string[] }> = {
  "resources/list": { list: "resources", keys: ["uri", "name"] },
  "resources/templates/list": { list: "resourceTemplates", keys: ["uriTemplate", "name"] },
  "prompts/list": { list: "prompts", keys: ["name"] },
};
const MAX_PAGES = 50;
const MAX_ENTRIES = 5_000;
const WAIT_MS = 10_000;

export interface UpstreamEntry {
  readonly server: string;
  readonly entry: JsonObject;
}

export interface UpstreamLists {
  readonly entries: readonly UpstreamEntry[];
  /** Names of the servers that did not answer. */
  readonly unavailable: readonly string[];
}

export async function listUpstreams(
  upstreams: Doors["upstreams"],
  caller: Caller,
  servers: readonly string[],
  method: ListMethod,
  signal: AbortSignal,
): Promise<UpstreamLists> {
  const away: string[] = [];
  const lists = await Promise.all(
    servers.map((server) =>
      listPages(upstreams, caller, server, method, signal).catch((): readonly UpstreamEntry[] => {
        away.push(server);
        return [];
      }),
    ),
  );
  return { entries: lists.flat(), unavailable: away };
}

async function listPages(
  upstreams: Doors["upstreams"],
  caller: Caller,
  server: string,
  method: ListMethod,
  signal: AbortSignal,
): Promise<readonly UpstreamEntry[]> {
  if (!upstreams) return [];
  const { list, keys } = FIELDS[method];
  const limit = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]);
  const found: UpstreamEntry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && found.length < MAX_ENTRIES; page++) {
    const result = await upstreams.request(
      server,
      caller.userId,
      method,
      cursor === undefined ? {} : { cursor },
      { signal: limit, timeoutMs: WAIT_MS },
    );
    const entries = result[list];
    if (Array.isArray(entries)) {
      // One invalid entry would make a client refuse the whole list.
      for (const entry of entries as readonly JsonObject[])
        if (isObject(entry) && keys.every((key) => typeof entry[key] === "string"))
          found.push({ server, entry });
    }
    const { nextCursor } = result;
    if (typeof nextCursor !== "string" || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found.slice(0, MAX_ENTRIES);
}
