// Looks at what a server offers, shared by all calls that wait for one: a call goes out only when a look that was begun
// after it arrived (or not longer ago than allowed) still shows the definition that was approved.
import type { Json, JsonObject } from "../../../contract/call.ts";
import { parseDefinition, pinOf } from "./definition.ts";
import { UpstreamFault } from "../upstream.ts";

export interface DefinitionChecks {
  /** Definitions by the server's own names, from a look that is at most so old. Who does not wait need not hear of its failure. */
  fresh(maxAgeMs: number): Promise<OfferedTools>;
}

export interface OfferedTools {
  readonly entries: readonly JsonObject[];
  /** Pin of what is offered under a name; null: nothing, or more than one. */
  pin(name: string): string | null;
}

interface Check {
  readonly begun: number;
  readonly seen: OfferedTools | null;
}

type List = (cursor: string | undefined) => Promise<JsonObject>;

const MAX_PAGES = 100;
const MAX_TOOLS = 5_000;
/** Looks under way; who comes then waits for the first to end. */
const MAX_PARALLEL = 4;

export function createDefinitionChecks(
  list: List,
  now: () => number = () => performance.now(),
): DefinitionChecks {
  /** Pins by the text of an entry: an unchanged one is not hashed again. */
  const pins = new Map<string, { readonly text: string; readonly pin: string | null }>();
  let last: Check | null = null;
  /** Under way, oldest first. */
  const current: (Check & { readonly answer: Promise<OfferedTools> })[] = [];
  /** The one that goes out when this turn of the loop is over: all who come until then share it. */
  let next: Promise<OfferedTools> | null = null;

  const pinOfEntry = (name: string, entry: JsonObject): string | null => {
    const text = JSON.stringify(entry);
    const known = pins.get(name);
    if (known?.text === text) return known.pin;
    const told = parseDefinition(entry);
    const pin = "fault" in told ? null : pinOf(told.definition);
    if (pins.size >= MAX_TOOLS) pins.clear();
    pins.set(name, { text, pin });
    return pin;
  };

  const look = (): Promise<OfferedTools> => {
    const begun = now();
    const answer = listAllTools(list).then((entries): OfferedTools => {
      let byName: Map<string, JsonObject | null> | null = null;
      /** Many calls share a look. */
      const asked = new Map<string, string | null>();
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
          const known = asked.get(name);
          if (known !== undefined) return known;
          const entry = (byName ??= named()).get(name) ?? null;
          const pin = entry && pinOfEntry(name, entry);
          asked.set(name, pin);
          return pin;
        },
      };
    });
    const mine = { begun, seen: null, answer };
    current.push(mine);
    const done = (seen: OfferedTools | null): void => {
      current.splice(current.indexOf(mine), 1);
      if (seen && begun >= (last?.begun ?? 0)) last = { begun, seen };
      onDone?.();
    };
    answer.then(done, () => done(null));
    return answer;
  };

  /** Told when a look has ended; somebody waits for room. */
  let onDone: (() => void) | null = null;
  const soon = (): Promise<OfferedTools> => {
    const room = new Promise<void>((resolve) => {
      if (current.length < MAX_PARALLEL) setImmediate(resolve);
      else onDone = resolve;
    });
    const coming = room.then(() => {
      next = null;
      onDone = null;
      return look();
    });
    coming.catch(() => undefined);
    return coming;
  };

  return {
    fresh(maxAgeMs) {
      if (maxAgeMs > 0) {
        const since = now() - maxAgeMs;
        if (last?.seen && last.begun >= since) return Promise.resolve(last.seen);
        const young = current.find(({ begun }) => begun >= since);
        if (young) return young.answer;
      }
      return (next ??= soon());
    },
  };
}

/** All pages, bounded. */
export async function listAllTools(list: List): Promise<readonly JsonObject[]> {
  const entries: JsonObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { tools, nextCursor } = await list(cursor);
    if (!Array.isArray(tools)) throw protocol("tools/list answered without a list of tools");
    for (const entry of tools as readonly Json[]) {
      if (typeof entry !== "object" || entry === null || Array.isArray(entry))
        throw protocol("tools/list holds something that is no tool");
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
