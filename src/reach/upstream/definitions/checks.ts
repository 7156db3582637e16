// Checks of what a server offers, shared by all calls that wait for one. A call goes out only if a check that was
// begun after it arrived (or not longer ago than allowed) still shows the definition that was approved.
import type { Json, JsonObject } from "../../../contract/call.ts";
import { parseDefinition, pinOf } from "./definition.ts";
import { UpstreamFault } from "../upstream.ts";

export interface DefinitionChecks {
  /** What the server offers, from a check begun at most so long ago. A rejection nobody waits for is not reported. */
  fresh(maxAgeMs: number): Promise<OfferedTools>;
}

export interface OfferedTools {
  readonly entries: readonly JsonObject[];
  /** Pin of what is offered under a name of the server; null: nothing, or more than one. */
  pin(name: string): string | null;
}

interface Check {
  readonly begun: number;
  readonly result: Promise<OfferedTools>;
}

type List = (cursor: string | undefined) => Promise<JsonObject>;

const MAX_PAGES = 100;
const MAX_TOOLS = 5_000;
/** Checks under way; the next one waits until one of them has ended. */
const MAX_PARALLEL = 4;

export function createDefinitionChecks(
  list: List,
  now: () => number = () => performance.now(),
): DefinitionChecks {
  const pins = new PinCache();
  let last: { readonly begun: number; readonly offered: OfferedTools } | null = null;
  /** Under way, oldest first. */
  const current: Check[] = [];
  /** Goes out at the end of this turn of the event loop: all calls that come until then share it. */
  let next: Promise<OfferedTools> | null = null;
  /** Set while the next check waits for one of the others to end. */
  let onDone: (() => void) | null = null;

  const check = (): Promise<OfferedTools> => {
    const begun = now();
    const result = listAllTools(list).then((entries): OfferedTools =>
      createOfferedTools(entries, pins),
    );
    const mine = { begun, result };
    current.push(mine);
    const done = (offered: OfferedTools | null): void => {
      current.splice(current.indexOf(mine), 1);
      if (offered && begun >= (last?.begun ?? 0)) last = { begun, offered };
      onDone?.();
    };
    result.then(done, () => done(null));
    return result;
  };

  const checkSoon = (): Promise<OfferedTools> => {
    const room = new Promise<void>((resolve) => {
      if (current.length < MAX_PARALLEL) setImmediate(resolve);
      else onDone = resolve;
    });
    const coming = room.then(() => {
      next = null;
      onDone = null;
      return check();
    });
    coming.catch(() => undefined);
    return coming;
  };

  return {
    fresh(maxAgeMs) {
      if (maxAgeMs > 0) {
        const since = now() - maxAgeMs;
        if (last && last.begun >= since) return Promise.resolve(last.offered);
        const recent = current.find(({ begun }) => begun >= since);
        if (recent) return recent.result;
      }
      return (next ??= checkSoon());
    },
  };
}

/** Pins by the text of an entry: an unchanged entry is not hashed again. */
class PinCache {
  readonly #byName = new Map<string, { readonly text: string; readonly pin: string | null }>();

  pin(name: string, entry: JsonObject): string | null {
    const text = JSON.stringify(entry);
    const known = this.#byName.get(name);
    if (known?.text === text) return known.pin;
    const parsed = parseDefinition(entry);
    const pin = "fault" in parsed ? null : pinOf(parsed.definition);
    if (this.#byName.size >= MAX_TOOLS) this.#byName.clear();
    this.#byName.set(name, { text, pin });
    return pin;
  }
}

/** Many calls share it, so each name is looked up once. */
function createOfferedTools(entries: readonly JsonObject[], cache: PinCache): OfferedTools {
  let byName: Map<string, JsonObject | null> | null = null;
  const pins = new Map<string, string | null>();
  return {
    entries,
    pin(name) {
      const known = pins.get(name);
      if (known !== undefined) return known;
      const entry = (byName ??= entriesByName(entries)).get(name) ?? null;
      const pin = entry && cache.pin(name, entry);
      pins.set(name, pin);
      return pin;
    },
  };
}

/** Null: the name is offered more than once. */
function entriesByName(entries: readonly JsonObject[]): Map<string, JsonObject | null> {
  const map = new Map<string, JsonObject | null>();
  for (const entry of entries) {
    const { name } = entry;
    if (typeof name === "string") map.set(name, map.has(name) ? null : entry);
  }
  return map;
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
