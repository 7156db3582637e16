// Keeps the rows, versions and registered tools of a server in step with what it offers and what administrators decide.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Json, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type {
  Action,
  ForeignDefinition,
  ServerRow,
  ServerToolRow,
  ServerToolVersion,
  Store,
} from "../../../storage/store/store.ts";
import type { Registry } from "../../../tools/registry.ts";
import type { Tool } from "../../../contract/tool.ts";
import { canonicalJson } from "../../../util/json/json.ts";
import { TakenNames } from "./names.ts";
import { assessAbsence, assessOffer, refusedName } from "./assess.ts";
import { createUpstreamTool } from "./upstream-tool.ts";

export interface ReviewPowers {
  readonly store: Pick<Store, "serverTools">;
  readonly registry: Pick<Registry, "all" | "get" | "put" | "unregister">;
  readonly now: () => number;
  readonly note: (action: Action, who: Who, body: JsonObject) => Promise<void>;
  /** Signals other instances that the registry changed. */
  readonly toolsChanged: () => Promise<void>;
}

interface Who {
  readonly tenantId: string;
  readonly userId: string;
}

export interface Review {
  /** Records what a server offers now. Returns all rows of its tools. */
  recordOffer(
    server: ServerRow,
    definitions: readonly ForeignDefinition[],
  ): Promise<readonly ServerToolRow[]>;
  /** Makes decisions about the current rows, which nobody else changes meanwhile. */
  decide(server: ServerRow, decision: Decision): Promise<readonly ServerToolRow[]>;
  /** The server itself changed (switched on or off, other limits): its tools are registered anew. */
  registerTools(server: ServerRow): Promise<void>;
  /** Takes all its tools out of the registry. */
  unregisterTools(server: string): Promise<void>;
}

/** Returns the rows that change, and versions that were approved. */
type Decision = (rows: readonly ServerToolRow[]) => Promise<{
  readonly rows: readonly ServerToolRow[];
  readonly versions: readonly ServerToolVersion[];
}>;

/** More than any client can list; what a server offers beyond is left out. */
const MAX_TOOLS = 1_000;
const MAX_NOTED = 200;
const SEEN_EVERY_MS = 3_600_000;
/** After so long the event loop gets a turn. */
const TURN_MS = 10;
const BATCH = 50;

export function createReview(p: ReviewPowers): Review {
  const { serverTools } = p.store;
  const turns = new Map<string, Promise<unknown>>();

  /** Runs work on one server one after the other, since each reads rows and then writes them. */
  function serialize<T>(server: string, work: () => Promise<T>): Promise<T> {
    const next = (turns.get(server) ?? Promise.resolve()).then(work);
    const done = (): void => void (turns.get(server) === settled && turns.delete(server));
    const settled: Promise<void> = next.then(done, done);
    turns.set(server, settled);
    return next;
  }

  /** Brings the registry in line with the rows. */
  async function register(
    server: ServerRow,
    rows: readonly ServerToolRow[],
    definitions: ReadonlyMap<string, ForeignDefinition> = new Map(),
  ): Promise<void> {
    const next: Tool[] = [];
    let changed = false;
    let turn = performance.now();
    for (const row of rows) {
      turn = await yieldAfter(turn);
      const there = p.registry.get(row.name);
      if (row.state === "refused" && row.approvedPin === null) {
        if (there?.route?.server === server.name)
          changed = (await p.registry.unregister(row.name)) || changed;
        continue;
      }
      const pin = row.approvedPin ?? row.seenPin;
      const definition =
        definitions.get(pin) ?? (await serverTools.version(server.name, row.name, pin))?.definition;
      if (definition === undefined) continue;
      const tool = createUpstreamTool(server, row, definition, there?.enabled ?? true);
      if (there === null || textOf(there) !== textOf(tool)) next.push(tool);
    }
    for (let at = 0; at < next.length; at += BATCH) {
      await putTools(next.slice(at, at + BATCH), p);
      await nextTurn();
    }
    if (changed || next.length > 0) await p.toolsChanged();
  }

  return {
    recordOffer: (server, definitions) =>
      serialize(server.name, async () => {
        const {
          changed,
          versions,
          before,
          definitions: byPin,
        } = await assessOffers(server, definitions, await serverTools.list(server.name), p);
        for (let at = 0; at < changed.length; at += BATCH) {
          const some = changed.slice(at, at + BATCH);
          await serverTools.save(
            some,
            versions.filter(({ name }) => some.some((row) => row.name === name)),
          );
        }
        // Read again: another instance may have decided meanwhile.
        const rows = await serverTools.list(server.name);
        await register(server, rows, byPin);
        const changes = changed.filter(
          (row) =>
            before.get(row.name)?.state !== row.state ||
            before.get(row.name)?.seenPin !== row.seenPin,
        );
        if (changes.length > 0)
          await p.note(
            "upstream.tools_seen",
            { tenantId: server.tenantId, userId: "system" },
            seenBody(server, changes, before, definitions.length),
          );
        return rows;
      }),
    decide: (server, decision) =>
      serialize(server.name, async () => {
        const { rows, versions } = await decision(await serverTools.list(server.name));
        await serverTools.save(rows, versions);
        await register(server, rows);
        return rows;
      }),
    registerTools: (server) =>
      serialize(server.name, async () => register(server, await serverTools.list(server.name))),
    unregisterTools: (server) =>
      serialize(server, async () => {
        const gone = p.registry.all().filter(({ route }) => route?.server === server);
        for (const { name } of gone) await p.registry.unregister(name);
        if (gone.length > 0) await p.toolsChanged();
      }),
  };
}

/** Compares what is offered with what is known. Yields to other work now and then. */
async function assessOffers(
  server: ServerRow,
  definitions: readonly ForeignDefinition[],
  known: readonly ServerToolRow[],
  p: ReviewPowers,
): Promise<Assessment> {
  const at = p.now();
  const former = new Map(known.map((row) => [keyOf(row.method, row.upstreamName), row]));
  const taken = new TakenNames(
    p.registry.all().filter(({ route }) => route?.server !== server.name),
  );
  for (const row of known) if (row.state !== "refused") taken.add(row);
  const rows = new Map<string, ServerToolRow>();
  const versions = new Map<string, ServerToolVersion>();
  let turn = performance.now();
  for (const definition of definitions.slice(0, MAX_TOOLS)) {
    turn = await yieldAfter(turn);
    const key = keyOf(definition.method, definition.name);
    const row = assessOffer(
      { server: server.name, definition, former: former.get(key) ?? null, at },
      taken,
    );
    const first = rows.get(row.name);
    // Offered twice: it is unknown which of the two a call would reach.
    if (first && first.upstreamName === row.upstreamName) {
      rows.set(row.name, { ...first, state: "refused", reason: "the server offers it twice" });
      continue;
    }
    const other =
      first ??
      (former.has(key)
        ? undefined
        : known.find(({ name, state }) => name === row.name && state !== "refused"));
    const assessed = other
      ? {
          ...row,
          ...refusedName(server.name, definition),
          state: "refused" as const,
          reason: `its name would be ${row.name}, which ${JSON.stringify(other.upstreamName)} has already`,
        }
      : row;
    rows.set(assessed.name, assessed);
    versions.set(assessed.name, {
      server: server.name,
      name: assessed.name,
      pin: assessed.seenPin,
      definition,
      firstSeenAt: at,
      approvedAt: null,
      approvedBy: null,
    });
    if (assessed.state !== "refused") taken.add(assessed);
  }
  for (const row of known) if (!rows.has(row.name)) rows.set(row.name, assessAbsence(row));
  const before = new Map(known.map((row) => [row.name, row]));
  const changed = [...rows.values()].filter((row) => hasChanged(before.get(row.name), row));
  const byPin = new Map([...versions.values()].map(({ pin, definition }) => [pin, definition]));
  return {
    changed,
    versions: changed.flatMap(({ name }) => versions.get(name) ?? []),
    before,
    definitions: byPin,
  };
}

/** Registers tools; one that the registry refuses becomes a refused row. */
async function putTools(tools: readonly Tool[], p: ReviewPowers): Promise<void> {
  try {
    await p.registry.put(tools);
  } catch (cause) {
    if (!(cause instanceof AppError) || tools.length === 1) throw cause;
    for (const tool of tools) await putOrRefuse(tool, p);
  }
}

async function putOrRefuse(tool: Tool, p: ReviewPowers): Promise<void> {
  try {
    await p.registry.put([tool]);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    const server = tool.route?.server ?? "";
    const row = await p.store.serverTools.get(server, tool.name);
    if (row)
      await p.store.serverTools.save([{ ...row, state: "refused", reason: cause.message }], []);
  }
}

interface Assessment {
  readonly changed: readonly ServerToolRow[];
  readonly versions: readonly ServerToolVersion[];
  readonly before: ReadonlyMap<string, ServerToolRow>;
  /** By pin. */
  readonly definitions: ReadonlyMap<string, ForeignDefinition>;
}

async function yieldAfter(turn: number): Promise<number> {
  if (performance.now() - turn <= TURN_MS) return turn;
  await nextTurn();
  return performance.now();
}

const keyOf = (method: string, name: string): string => `${method} ${name}`;

function hasChanged(before: ServerToolRow | undefined, { seenAt, ...row }: ServerToolRow): boolean {
  if (before === undefined) return true;
  const { seenAt: seenBefore, ...former } = before;
  const text = (facts: object): string => canonicalJson(facts as Json);
  return seenAt - seenBefore > SEEN_EVERY_MS || text(former) !== text(row);
}

function textOf({ native: _, ...tool }: Tool): string {
  return canonicalJson(tool as unknown as Json);
}

function seenBody(
  server: ServerRow,
  changes: readonly ServerToolRow[],
  before: ReadonlyMap<string, ServerToolRow>,
  offered: number,
): JsonObject {
  const tools = changes
    .slice(0, MAX_NOTED)
    .map(({ name, seenPin, approvedPin, state, reason }) => ({
      name,
      pin: seenPin,
      state,
      was: before.get(name)?.state ?? null,
      ...(approvedPin === null ? {} : { approvedPin }),
      ...(reason === null ? {} : { reason }),
    }));
  return {
    server: server.name,
    tools,
    changed: changes.length,
    offered,
    leftOut: Math.max(0, offered - MAX_TOOLS),
  };
}
