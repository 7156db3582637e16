// Looks at what a server offers, shared by all calls that wait for one: a call goes out only when a look that was begun
// after it arrived (or not longer ago than allowed) still shows the definition that was approved.
import type { Json, JsonObject } from "../call.ts";
import { definitionOf, pinOf } from "./intake/definition.ts";
import { UpstreamFault } from "./upstream.ts";

export interface Looks {
  /** Definitions by the server's own names, from a look that is at most so old. */
  fresh(maxAgeMs: number): Promise<Seen>;
}

export interface Seen {
  readonly entries: readonly JsonObject[];
  /** Pin of what is offered under a name; null: nothing, or more than one. */
  pin(name: string): string | null;
}

type List = (cursor: string | undefined) => Promise<JsonObject>;

const MAX_PAGES = 100;
const MAX_TOOLS = 5_000;

export function createLooks(list: List, now: () => number = () => performance.now()): Looks {
  /** Pins by the text of an entry: an unchanged one is not hashed again. */
  const pins = new Map<string, { readonly text: string; readonly pin: string | null }>();
  let last: { readonly begun: number; readonly seen: Seen } | null = null;
  let current: { readonly begun: number; readonly seen: Promise<Seen> } | null = null;
  let next: Promise<Seen> | null = null;

  const pinOfEntry = (name: string, entry: JsonObject): string | null => {
    const text = JSON.stringify(entry);
    const known = pins.get(name);
    if (known?.text === text) return known.pin;
    const told = definitionOf(entry);
    const pin = "fault" in told ? null : pinOf(told.definition);
    if (pins.size >= MAX_TOOLS) pins.clear();
    pins.set(name, { text, pin });
    return pin;
  };

  const look = (): Promise<Seen> => {
    const begun = now();
    const seen = entriesOf(list).then((entries): Seen => {
      let byName: Map<string, JsonObject | null> | null = null;
      const named = (): Map<string, JsonObject | null> => {
        const map = new Map<string, JsonObject | null>();
        for (const entry of entries) {
          const { name } = entry;
          if (typeof name === "string") map.set(name, map.has(name) ? null : entry);
        }
        return map;
      };
      return {
        entries,
        pin(name) {
          const entry = (byName ??= named()).get(name) ?? null;
          return entry && pinOfEntry(name, entry);
        },
      };
    });
    const mine = { begun, seen };
    current = mine;
    const done = (): void => {
      if (current === mine) current = null;
    };
    seen.then((found) => {
      last = { begun, seen: found };
      done();
    }, done);
    return seen;
  };

  return {
    async fresh(maxAgeMs) {
      const since = now() - maxAgeMs;
      if (last && maxAgeMs > 0 && last.begun >= since) return last.seen;
      if (current && current.begun >= since) return current.seen;
      if (!current) return look();
      // One is under way that began too early: all who come meanwhile share the one after it.
      return (next ??= current.seen
        .catch(() => undefined)
        .then(() => {
          next = null;
          return look();
        }));
    },
  };
}

/** All pages, bounded. */
export async function entriesOf(list: List): Promise<readonly JsonObject[]> {
  const entries: JsonObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { tools, nextCursor } = await list(cursor);
    if (!Array.isArray(tools)) throw protocol("tools/list answered without a list of tools");
    for (const entry of tools as readonly Json[]) {
      if (typeof entry !== "object" || entry === null || Array.isArray(entry)) throw protocol("tools/list holds something that is no tool"); // prettier-ignore
      entries.push(entry as JsonObject);
    }
    if (entries.length > MAX_TOOLS) throw protocol(`it offers more than ${MAX_TOOLS} tools`);
    if (nextCursor === undefined || nextCursor === null) return entries;
    if (typeof nextCursor !== "string") throw protocol("tools/list has a cursor that is no text");
    cursor = nextCursor;
  }
  throw protocol(`tools/list does not end after ${MAX_PAGES} pages`);
}

const protocol = (message: string): UpstreamFault =>
  new UpstreamFault("protocol", message, { dispatched: true });
