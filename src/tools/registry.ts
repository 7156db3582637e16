// All known tools, by each of their names. The store keeps the definitions; memory answers the calls.
import type { Json } from "../contract/call.ts";
import { AppError, type FieldFault } from "../contract/errors.ts";
import type { CapabilityRecord, Store, StoredTool } from "../storage/store/store.ts";
import { canonicalJson } from "../util/json/json.ts";
import { CATEGORIES, EFFECTS, freezeTool, RISKS, type Tool } from "../contract/tool.ts";

export interface ToolFilter {
  readonly category?: string;
  readonly governanceClass?: string;
  readonly tags?: readonly string[];
  readonly search?: string;
  readonly includeDeprecated?: boolean;
}

export interface RegistryStats {
  readonly totalTools: number;
  readonly categories: Readonly<Record<string, number>>;
}

/** Every tool known to this process, by canonical name, wire name and alias. */
export interface Registry {
  /** Rises with every change; caches compare it. */
  readonly revision: number;
  /** By any of its names; absent gives null. */
  get(name: string): Tool | null;
  /** What the store has besides the definition: its id, and since when it is valid. */
  record(name: string): Promise<CapabilityRecord | null>;
  /** Bytewise by wire name. */
  all(): readonly Tool[];
  /**
   * Validates, refuses duplicates (CONFLICT / already_exists), stores all or none, then emits `toolRegistered` for
   * each.
   */
  register(...tools: readonly Tool[]): Promise<void>;
  /**
   * Adds or replaces tools of an upstream server, in one transaction; names of other tools are refused as by
   * `register`.
   */
  put(tools: readonly Tool[]): Promise<void>;
  unregister(name: string): Promise<boolean>;
  setEnabled(name: string, enabled: boolean): Promise<boolean>;
  /** Takes over changes of another instance: switched on or off, added, replaced or removed. */
  reload(): Promise<void>;
  stats(): RegistryStats;
  on(event: "toolRegistered" | "toolChanged", listener: (tool: Tool) => void): () => void;
}

/** Filters a caller's own list (R015-R018): category, every tag, substring of name or description. */
export function filterTools(tools: readonly Tool[], filter: ToolFilter): Tool[] {
  const text = filter.search?.toLowerCase();
  return tools.filter(
    (tool) =>
      (filter.category === undefined || tool.category === filter.category) &&
      (filter.governanceClass === undefined || tool.effects === filter.governanceClass) &&
      (filter.tags ?? []).every((tag) => tool.tags.includes(tag)) &&
      (filter.includeDeprecated === true || tool.deprecated === null) &&
      (text === undefined ||
        tool.name.toLowerCase().includes(text) ||
        tool.wireName.includes(text) ||
        tool.description.toLowerCase().includes(text)),
  );
}

/**
 * Loads the tools in the store, then the native definitions over them: a changed native definition is a new version of
 * the same capability (the former one is kept under its pin); a switched-off one stays off.
 */
export async function openRegistry(
  store: Pick<Store, "capabilities">,
  native: readonly Tool[],
  now: () => number = Date.now,
): Promise<Registry> {
  const index = createNameIndex();
  const listeners = { toolRegistered: new Set<Listener>(), toolChanged: new Set<Listener>() };
  const emit: Emit = (event, tool) => {
    for (const listener of listeners[event]) listener(tool);
  };

  const register = async (...tools: readonly Tool[]): Promise<void> => {
    const added: Tool[] = [];
    try {
      for (const tool of tools.map(checked)) {
        index.add(tool);
        added.push(tool);
      }
      await store.capabilities.save(added.map(storedOf), now());
    } catch (cause) {
      added.forEach(index.displace);
      throw cause;
    }
    for (const tool of added) emit("toolRegistered", tool);
  };

  const changed = placeAll(index, native, await store.capabilities.all());
  if (changed.length > 0) await store.capabilities.save(changed.map(storedOf), now());

  return {
    get revision() {
      return index.revision;
    },
    get: index.find,
    record: (name) => store.capabilities.record(index.find(name)?.name ?? name),
    all: index.sorted,
    register,
    async put(tools) {
      const next = tools.map(checked);
      const former = next.map((tool) => index.byName.get(tool.name) ?? null);
      const local = former.find((tool) => tool?.provider === "native");
      if (local) throw taken(local.name, local.name);
      const placed: Tool[] = [];
      try {
        for (const tool of former) if (tool) index.displace(tool);
        for (const tool of next) {
          index.add(tool);
          placed.push(tool);
        }
        await store.capabilities.save(next.map(storedOf), now());
      } catch (cause) {
        placed.forEach(index.displace);
        for (const tool of former) if (tool) index.place(tool);
        throw cause;
      }
      next.forEach((tool, at) => emit(former[at] ? "toolChanged" : "toolRegistered", tool));
    },
    async unregister(name) {
      const tool = index.find(name);
      if (!tool) return false;
      await store.capabilities.remove(tool.name);
      index.displace(tool);
      emit("toolChanged", tool);
      return true;
    },
    async setEnabled(name, enabled) {
      const tool = index.find(name);
      if (!tool || !(await store.capabilities.setEnabled(tool.name, enabled))) return false;
      const next = freezeTool({ ...tool, enabled });
      index.place(next);
      emit("toolChanged", next);
      return true;
    },
    async reload() {
      takeOver(index, await store.capabilities.all(), emit);
    },
    stats() {
      const categories: Record<string, number> = {};
      for (const tool of index.byName.values())
        categories[tool.category] = (categories[tool.category] ?? 0) + 1;
      return { totalTools: index.byName.size, categories };
    },
    on(event, listener) {
      listeners[event].add(listener);
      return () => listeners[event].delete(listener);
    },
  };
}

interface NameIndex {
  /** By canonical name. */
  readonly byName: ReadonlyMap<string, Tool>;
  /** Rises with every change. */
  readonly revision: number;
  /** By any of its names. */
  find(name: string): Tool | null;
  /** True when one of its names belongs to a tool already. */
  isTaken(tool: Named): boolean;
  /** Refuses a tool one of whose names is taken. */
  add(tool: Tool): void;
  /** Sets all of its names, whatever they stood for before. */
  place(tool: Tool): void;
  displace(tool: Tool): void;
  /** Bytewise by wire name. */
  sorted(): readonly Tool[];
}

function createNameIndex(): NameIndex {
  const byName = new Map<string, Tool>();
  const names = new Map<string, Tool>();
  let sorted: readonly Tool[] | null = null;
  let revision = 0;

  const place = (tool: Tool): void => {
    byName.set(tool.name, tool);
    for (const name of namesOf(tool)) names.set(name, tool);
    sorted = null;
    revision++;
  };
  return {
    byName,
    get revision() {
      return revision;
    },
    find: (name) => names.get(name) ?? null,
    isTaken: (tool) => namesOf(tool).some((name) => names.has(name)),
    add(tool) {
      const name = namesOf(tool).find((each) => names.has(each));
      if (name !== undefined) throw taken(name, names.get(name)?.name ?? name);
      place(tool);
    },
    place,
    displace(tool) {
      byName.delete(tool.name);
      for (const name of namesOf(tool)) names.delete(name);
      sorted = null;
      revision++;
    },
    sorted: () =>
      (sorted ??= [...byName.values()].sort((a, b) => (a.wireName < b.wireName ? -1 : 1))),
  };
}

/** Fills the index at the start; returns the native tools whose definition in the store is not the same. */
function placeAll(index: NameIndex, native: readonly Tool[], rows: readonly StoredTool[]): Tool[] {
  const stored = new Map(rows.map((tool) => [tool.name, tool]));
  const changed: Tool[] = [];
  for (const defined of native.map(checked)) {
    const known = stored.get(defined.name);
    stored.delete(defined.name);
    const tool = known?.enabled === false ? freezeTool({ ...defined, enabled: false }) : defined;
    index.add(tool);
    // Fields that no model sees (tags, timeout, aliases) must be the same in the store, too.
    if (!known || textOf(known) !== textOf(storedOf(tool))) changed.push(tool);
  }
  // What the store has beyond the native list: native ones of an older release are dropped, others wait for their
  // runner. One whose name a native tool has taken since is left out: it must not answer in its place.
  for (const tool of stored.values())
    if (tool.provider !== "native" && !index.isTaken(tool)) index.place(withoutRunner(tool));
  return changed;
}

/** Brings the index in line with the store after another instance changed it. */
function takeOver(index: NameIndex, rows: readonly StoredTool[], emit: Emit): void {
  const kept = new Set(rows.map(({ name }) => name));
  for (const tool of [...index.byName.values()]) {
    if (tool.provider === "native" || kept.has(tool.name)) continue;
    index.displace(tool);
    emit("toolChanged", tool);
  }
  for (const stored of rows) {
    const tool = index.byName.get(stored.name);
    if (stored.provider === "native") {
      if (!tool || tool.enabled === stored.enabled) continue;
      const next = freezeTool({ ...tool, enabled: stored.enabled });
      index.place(next);
      emit("toolChanged", next);
      continue;
    }
    if (tool && textOf(storedOf(tool)) === textOf(stored)) continue;
    if (tool) index.displace(tool);
    if (index.isTaken(stored)) continue;
    const next = withoutRunner(stored);
    index.place(next);
    emit(tool ? "toolChanged" : "toolRegistered", next);
  }
}

const withoutRunner = (tool: StoredTool): Tool =>
  freezeTool({ ...tool, route: tool.route ?? null, native: null });

/** Definitions are plain data: a difference shows in the text. */
const textOf = (tool: StoredTool): string => canonicalJson({ ...tool } as unknown as Json);

type Listener = (tool: Tool) => void;
type Emit = (event: Parameters<Registry["on"]>[0], tool: Tool) => void;
type Named = Pick<Tool, "name" | "wireName" | "aliases">;

const NAME = /^[a-z][a-z0-9_]{0,31}\/[a-z][a-z0-9_]{0,39}$/;
/** What every MCP client accepts as a tool's name. */
const WIRE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** `server/tool`: the server's own name for it, with the characters that relations and clients allow. */
const UPSTREAM_NAME = /^[a-z][a-z0-9_-]{0,31}\/[A-Za-z0-9_-]{1,64}$/;

function taken(name: string, by: string): AppError {
  return new AppError("CONFLICT", "already_exists", `the tool name '${name}' is taken by ${by}`, {
    remedy: "choose another name, or unregister the other tool first",
  });
}

/** A definition that governance can rely on, frozen; otherwise every fault at once. */
function checked(tool: Tool): Tool {
  const faults = [
    fault(
      "/name",
      (tool.route ? UPSTREAM_NAME : NAME).test(tool.name),
      tool.route ? "expected server/tool in [A-Za-z0-9_-]" : "expected category/name in [a-z0-9_]",
    ),
    fault("/wireName", WIRE_NAME.test(tool.wireName), "expected 1 to 64 of [A-Za-z0-9_-]"),
    fault("/description", tool.description.trim() !== "", "is empty"),
    fault(
      "/category",
      (tool.route !== null || tool.name.startsWith(`${tool.category}/`)) &&
        isOneOf(CATEGORIES, tool.category),
      `expected the first part of the name, one of ${CATEGORIES.join(", ")}`,
    ),
    fault(
      "/route",
      tool.route === null || tool.name.startsWith(`${tool.route.server}/`),
      "expected the server that the name begins with",
    ),
    fault(
      "/drafted",
      (tool.provider === "drafted") === (tool.drafted !== undefined),
      "expected a program for drafted tools, and for no others",
    ),
    fault("/risk", isOneOf(RISKS, tool.risk), `expected one of ${RISKS.join(", ")}`),
    fault("/effects", isOneOf(EFFECTS, tool.effects), `expected one of ${EFFECTS.join(", ")}`),
    fault(
      "/inputSchema",
      tool.inputSchema["type"] === "object",
      "expected a schema of type object",
    ),
    fault(
      "/timeoutMs",
      tool.timeoutMs >= 1_000 && tool.timeoutMs <= 300_000,
      "expected 1000 to 300000",
    ),
    fault(
      "/native",
      (tool.provider === "native") === (tool.native !== null),
      "expected a handler for native tools, and for no others",
    ),
  ].flat();
  if (faults.length > 0) {
    const list = faults.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      `tool ${JSON.stringify(tool.name)}: ${list}`,
      { errors: faults },
    );
  }
  return Object.isFrozen(tool) && Object.isFrozen(tool.inputSchema) ? tool : freezeTool(tool);
}

function fault(path: string, fine: boolean, message: string): FieldFault[] {
  return fine ? [] : [{ path, message }];
}

function isOneOf(words: readonly string[], word: string): boolean {
  return words.includes(word);
}

function namesOf(tool: Named): readonly string[] {
  return [...new Set([tool.name, tool.wireName, ...tool.aliases])];
}

function storedOf(tool: Tool): StoredTool {
  const { native: _native, ...rest } = tool;
  return rest;
}
