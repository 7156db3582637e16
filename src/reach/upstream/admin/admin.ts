// The desk for servers upstream: what administrators add, change and remove, and what follows from it everywhere.
import type { Caller, JsonObject } from "../../../contract/call.ts";
import { AppError, type Fault } from "../../../contract/errors.ts";
import type { Follower } from "../../../storage/store/follow.ts";
import {
  AlreadyExists,
  type Action,
  type ServerRow,
  type ServerToolRow,
  type Store,
} from "../../../storage/store/store.ts";
import { CATEGORIES } from "../../../contract/tool.ts";
import { applyConfigured, type Configured } from "./configured.ts";
import { invalid, readTransport, readSettings, type ResolveProgram } from "./input.ts";
import { createToolAdmin } from "./tool-admin.ts";
import { unreachableFault, serverView, toolViews } from "./views.ts";
import type { OpenedCredentials } from "../credentials/credentials.ts";
import { isServerName, TakenNames } from "../definitions/names.ts";
import { assessOffer } from "../definitions/assess.ts";
import type { ToolLinks } from "./tool-links.ts";
import type { Review } from "../definitions/review.ts";
import type { ImportedEntry, NewServer, ServerAdmin, ServerCheck } from "./server-admin.ts";
import type { Upstreams } from "../upstream.ts";

export interface ServerAdminPowers {
  readonly links: ToolLinks;
  readonly store: Pick<Store, "servers" | "serverTools" | "capsules">;
  readonly upstreams: Pick<
    Upstreams,
    "apply" | "health" | "logs" | "restart" | "definitions" | "onNotification"
  >;
  readonly credentials: Pick<OpenedCredentials, "put" | "remove" | "list" | "forget" | "of">;
  /** Servers of the settings. */
  readonly configured: Configured;
  readonly review: Review;
  readonly follower: Pick<Follower, "on" | "changed">;
  readonly resolveProgram: ResolveProgram;
  /** What a server kept on this machine. */
  readonly removeFolders: (server: string) => Promise<void>;
  readonly now: () => number;
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: JsonObject,
  ) => Promise<void>;
  readonly report: (fields: object, message: string) => void;
}

export interface OpenedServerAdmin {
  readonly admin: ServerAdmin;
  /** Makes the servers of the settings and takes over all as the store has them; changes of other instances too, from now on. */
  start(): Promise<void>;
  /** Looks at what a server offers as soon as nobody has asked for it for a moment: it says that it changed, or a call saw it. */
  checkSoon(server: string): void;
  close(): void;
}

/** What follower and other instances call a change of servers or credentials. */
const SUBJECT = "servers";
const MAX_PER_TENANT = 200;
const LOOK_MS = 30_000;
const SETTLE_MS = 300;
const CHANGED = /^notifications\/(?:tools|resources|prompts)\/list_changed$/;

export function openServerAdmin(p: ServerAdminPowers): OpenedServerAdmin {
  const { servers, serverTools } = p.store;
  const waiting = new Map<string, NodeJS.Timeout>();
  const { links: linking } = p;

  const applied = async (): Promise<void> => p.upstreams.apply(await servers.list());
  /** Here at once, then everywhere. */
  const changed = async (): Promise<void> => {
    await applied();
    await p.follower.changed(SUBJECT);
  };

  const ours = async (actor: Caller, name: string): Promise<ServerRow> => {
    assertAdmin(actor);
    const row = await servers.get(name);
    if (row?.tenantId === actor.tenantId) return row;
    throw new AppError("NOT_FOUND", "unknown", `Server '${name}' not found`, {
      remedy: "list those of your tenant: ostiary servers list",
    });
  };
  /** The operator's own is changed where it was written. */
  const changeable = async (actor: Caller, name: string): Promise<ServerRow> => {
    const row = await ours(actor, name);
    if (row.origin === "api") return row;
    throw new AppError(
      "CONFLICT",
      "stale",
      `server ${name} comes from the configuration, got a change of it here`,
      { remedy: "change mcpServers in the settings and start again" },
    );
  };

  /** Looks at what it offers now. A server that does not answer is no fault of whoever asked: it is told. */
  const look = async (
    row: ServerRow,
    signal: AbortSignal,
  ): Promise<{ rows: readonly ServerToolRow[]; fault: Fault | null }> => {
    try {
      const definitions = await p.upstreams.definitions(
        row.name,
        AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]),
      );
      return { rows: await p.review.recordOffer(row, definitions), fault: null };
    } catch (cause) {
      if (signal.aborted) throw cause;
      return { rows: await serverTools.list(row.name), fault: unreachableFault(row, cause) };
    }
  };
  const tried = async (
    row: ServerRow,
    signal: AbortSignal,
    notes: readonly string[] = [],
  ): Promise<ServerCheck> => {
    const { rows, fault } = row.enabled
      ? await look(row, signal)
      : { rows: await serverTools.list(row.name), fault: null };
    return {
      server: serverView(row, p.upstreams.health(row.name), rows),
      fault,
      tools: await toolViews(p.store, rows),
      notes,
    };
  };

  const rowOf = async (
    actor: Caller,
    made: NewServer,
  ): Promise<{
    row: ServerRow;
    secrets: Readonly<Record<string, string>>;
    notes: readonly string[];
  }> => {
    assertAdmin(actor);
    if (!isServerName(made.name))
      throw invalid(
        "/name",
        `expected a name in [a-z][a-z0-9_-], at most 32, none of ${CATEGORIES.join(", ")}; got ${JSON.stringify(made.name)}`,
        "choose another name",
      );
    if (await servers.get(made.name)) throw taken(made.name);
    if ((await servers.list(actor.tenantId)).length >= MAX_PER_TENANT)
      throw new AppError(
        "CONFLICT",
        "already_exists",
        `at most ${MAX_PER_TENANT} servers per tenant, and there are as many`,
        { remedy: "remove one that nobody needs" },
      );
    const { transport, secrets, notes } = await readTransport(made.transport, p.resolveProgram);
    const now = p.now();
    const row: ServerRow = {
      name: made.name,
      tenantId: actor.tenantId,
      description: made.description ?? "",
      transport,
      settings: readSettings(made.settings),
      enabled: made.enabled ?? true,
      origin: "api",
      createdBy: actor.userId,
      createdAt: now,
      updatedAt: now,
    };
    return { row, secrets: { ...secrets, ...made.credentials }, notes };
  };
  const seal = async (row: ServerRow, secrets: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, value] of Object.entries(secrets))
      await p.credentials.put(row, "", name, value);
  };

  /** Connects and lists without keeping anything. */
  const rehearse = async (
    row: ServerRow,
    secrets: Readonly<Record<string, string>>,
    notes: readonly string[],
    signal: AbortSignal,
  ): Promise<ServerCheck> => {
    try {
      await seal(row, secrets);
      await p.upstreams.apply([...(await servers.list()), row]);
      const definitions = await p.upstreams.definitions(
        row.name,
        AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]),
      );
      const rows = definitions.map((definition) =>
        assessOffer(
          { server: row.name, definition, former: null, at: p.now() },
          new TakenNames([]),
        ),
      );
      const views = rows.map((one, at) => ({
        ...one,
        title: definitions[at]?.title ?? null,
        description: definitions[at]?.description ?? "",
      }));
      return {
        server: serverView(row, p.upstreams.health(row.name), rows),
        fault: null,
        tools: views,
        notes,
      };
    } catch (cause) {
      if (signal.aborted) throw cause;
      return {
        server: serverView(row, p.upstreams.health(row.name), []),
        fault: unreachableFault(row, cause),
        tools: [],
        notes,
      };
    } finally {
      for (const name of Object.keys(secrets)) await p.credentials.remove(row, "", name);
      await applied();
      if (row.transport.kind === "stdio") await p.removeFolders(row.name);
    }
  };

  const add = async (actor: Caller, made: NewServer, signal: AbortSignal): Promise<ServerCheck> => {
    const { row, secrets, notes } = await rowOf(actor, made);
    if (made.dryRun) return rehearse(row, secrets, notes, signal);
    try {
      await servers.create(row);
    } catch (cause) {
      throw cause instanceof AlreadyExists ? taken(row.name) : cause;
    }
    await seal(row, secrets);
    await p.note("upstream.added", actor, auditOf(row, { credentials: Object.keys(secrets) }));
    await changed();
    return tried(row, signal, notes);
  };

  const desk: ServerAdmin = {
    add,
    async list(actor) {
      assertAdmin(actor);
      const rows = await servers.list(actor.tenantId);
      return Promise.all(
        rows.map(async (row) =>
          serverView(row, p.upstreams.health(row.name), await serverTools.list(row.name)),
        ),
      );
    },
    async get(actor, name) {
      const row = await ours(actor, name);
      return serverView(row, p.upstreams.health(name), await serverTools.list(name));
    },
    async update(actor, name, { transport, settings, ...edit }, signal) {
      const before = await changeable(actor, name);
      const reach =
        transport === undefined ? null : await readTransport(transport, p.resolveProgram);
      if (reach) await seal(before, reach.secrets);
      const given = {
        ...edit,
        ...(reach ? { transport: reach.transport } : {}),
        ...(settings ? { settings: readSettings(settings, before.settings) } : {}),
      };
      const change = Object.fromEntries(
        Object.entries(given).filter(([, value]) => value !== undefined),
      );
      const after = await servers.update(name, { ...change, updatedAt: p.now() });
      if (after === null)
        throw new AppError("NOT_FOUND", "unknown", `Server '${name}' not found`, {
          remedy: "somebody removed it meanwhile",
        });
      await p.note(
        "upstream.changed",
        actor,
        auditOf(after, { how: Object.keys(change).sort().join(", ") }),
      );
      await changed();
      await p.review.registerTools(after);
      return tried(after, signal, reach?.notes ?? []);
    },
    async remove(actor, name) {
      const row = await changeable(actor, name);
      const tools = await serverTools.list(name);
      const view = serverView(row, p.upstreams.health(name), tools);
      // Nobody can call them from here on; should the rest fail it can be done again.
      await p.review.unregisterTools(name);
      await linking.unlink(
        actor,
        tools.map((tool) => tool.name),
      );
      if (await servers.remove(name)) await p.note("upstream.removed", actor, auditOf(row));
      p.credentials.forget(name);
      await changed();
      if (row.transport.kind === "stdio") await p.removeFolders(name);
      return view;
    },
    async restart(actor, name, signal) {
      const row = await ours(actor, name);
      if (!row.enabled)
        throw new AppError("CONFLICT", "not_running", `server ${name} is switched off`, {
          remedy: `switch it on: ostiary servers set ${name} --enable`,
        });
      await p.upstreams.restart(name);
      return tried(row, signal);
    },
    check: async (actor, name, signal) => tried(await ours(actor, name), signal),
    logs: async (actor, name) => p.upstreams.logs((await ours(actor, name)).name),
    ...createToolAdmin({
      store: p.store,
      review: p.review,
      links: linking,
      now: p.now,
      note: p.note,
      ownServer: ours,
    }),

    async import(actor, text, { only, ...box }, signal) {
      assertAdmin(actor);
      const { importServers } = await import("./import-clients.ts");
      const { servers: found, faults } = importServers(text);
      const wanted = found.filter(
        ({ name, called }) => only === undefined || only.includes(name) || only.includes(called),
      );
      const done: ImportedEntry[] = [];
      for (const { called, needs, ignored, ...made } of wanted) {
        const { name } = made;
        try {
          const transport =
            made.transport.kind === "stdio" ? { ...made.transport, ...box } : made.transport;
          const tried = await add(actor, { ...made, transport }, signal);
          done.push({ name, called, needs, ignored, tried, fault: null });
        } catch (cause) {
          if (!(cause instanceof AppError)) throw cause;
          done.push({ name, called, needs, ignored, tried: null, fault: cause.fault });
        }
      }
      return { servers: done, faults };
    },

    async credentials(actor, name) {
      const row = await ours(actor, name);
      return {
        shared: await p.credentials.list(row, ""),
        own: await p.credentials.list(row, actor.userId),
      };
    },
    async putCredential(actor, name, given) {
      const row = given.own ? await usable(actor, name) : await ours(actor, name);
      await p.credentials.put(row, given.own ? actor.userId : "", given.name, given.value);
      await credentialChanged(actor, row, given, "stored");
    },
    async removeCredential(actor, name, given) {
      const row = given.own ? await usable(actor, name) : await ours(actor, name);
      const removed = await p.credentials.remove(row, given.own ? actor.userId : "", given.name);
      if (removed) await credentialChanged(actor, row, given, "removed");
      return removed;
    },
  };

  /** Where everybody brings their own, everybody of the tenant may do so; of others they are not told. */
  async function usable(actor: Caller, name: string): Promise<ServerRow> {
    const row = await servers.get(name);
    if (
      row?.tenantId === actor.tenantId &&
      (actor.role === "admin" || row.settings.credentials === "user")
    )
      return row;
    throw new AppError("NOT_FOUND", "unknown", `Server '${name}' not found`, {
      remedy: "ask an administrator whether it takes credentials of your own",
    });
  }

  async function credentialChanged(
    actor: Caller,
    row: ServerRow,
    given: { name: string; own: boolean },
    how: string,
  ): Promise<void> {
    await p.note("upstream.credential_changed", actor, {
      server: row.name,
      credential: given.name,
      whose: given.own ? actor.userId : "everybody",
      how,
    });
    await p.follower.changed(SUBJECT);
  }

  const lookSoon = (server: string): void => {
    clearTimeout(waiting.get(server));
    const timer = setTimeout(() => {
      waiting.delete(server);
      lookNow(server).catch((cause: unknown) =>
        p.report({ err: cause, server }, "a server could not be looked at"),
      );
    }, SETTLE_MS);
    waiting.set(server, timer.unref());
  };
  async function lookNow(server: string): Promise<void> {
    const row = await servers.get(server);
    if (!row?.enabled) return;
    const { fault } = await look(row, AbortSignal.timeout(LOOK_MS));
    if (fault) p.report({ server, fault }, "a server could not be looked at");
  }

  const ends = [
    p.upstreams.onNotification((server, method) => {
      if (CHANGED.test(method)) lookSoon(server);
    }),
    p.follower.on(SUBJECT, async () => {
      p.credentials.forget();
      await applied();
    }),
  ];
  return {
    admin: desk,
    async start() {
      await applyConfigured(p.configured, p);
      await applied();
    },
    checkSoon: lookSoon,
    close() {
      for (const end of ends) end();
      for (const timer of waiting.values()) clearTimeout(timer);
      waiting.clear();
    },
  };
}

function assertAdmin(actor: Caller): void {
  if (actor.role !== "admin")
    throw new AppError(
      "FORBIDDEN",
      "admin_only",
      `only administrators define servers, got ${actor.userId}`,
      { remedy: "ask an administrator" },
    );
}

const taken = (name: string): AppError =>
  new AppError("CONFLICT", "already_exists", `a server '${name}' exists already`, {
    remedy: `choose another name, or change it: ostiary servers set ${name}`,
  });

/** What the record says of a server: where it is and how it is held, never what it is reached with. */
function auditOf(
  { name, transport, enabled, origin }: ServerRow,
  more: JsonObject = {},
): JsonObject {
  const where =
    transport.kind === "stdio"
      ? {
          argv: transport.argv,
          isolation: transport.isolation,
          folders: transport.folders.map(({ path, access }) => `${path} ${access}`),
          network: transport.network === "none" ? "none" : transport.network.hosts,
        }
      : { host: URL.parse(transport.url)?.host ?? "" };
  return { server: name, kind: transport.kind, ...where, enabled, origin, ...more };
}
