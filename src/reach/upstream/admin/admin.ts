// Administration of upstream servers: its parts put together, and kept in step with other instances.
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { assertAdmin, createServerAccess, serverNotFound, type ServerAccess } from "./access.ts";
import { createServerAdding } from "./add-server.ts";
import { auditFacts } from "./audit.ts";
import { applyConfiguredServers } from "./configured.ts";
import { createCredentialAdmin } from "./credential-admin.ts";
import { readSettings, readTransport } from "./input.ts";
import { SERVERS_SUBJECT, type ServerAdminPowers } from "./powers.ts";
import type { ServerAdmin, ServerView } from "./server-admin.ts";
import { createServerChecks, sealSecrets, type ServerChecks } from "./server-checks.ts";
import { createToolAdmin } from "./tool-admin.ts";
import { serverView } from "./views.ts";

export interface OpenedServerAdmin {
  readonly admin: ServerAdmin;
  /** Applies the settings and all stored servers; follows changes of other instances from now on. */
  start(): Promise<void>;
  /** Checks a server in the background: its tools may have changed. */
  checkSoon(server: string): void;
  close(): void;
}

const LIST_CHANGED = /^notifications\/(?:tools|resources|prompts)\/list_changed$/;

export function openServerAdmin(p: ServerAdminPowers): OpenedServerAdmin {
  const { store, review, links, now, note } = p;
  const applyServers = async (): Promise<void> => p.upstreams.apply(await store.servers.list());
  /** Here at once, then on every other instance. */
  const publish = async (): Promise<void> => {
    await applyServers();
    await p.follower.changed(SERVERS_SUBJECT);
  };
  const access = createServerAccess(store.servers);
  const checks = createServerChecks(p, applyServers);
  const parts: Parts = { ...p, access, checks, publish };
  const admin: ServerAdmin = {
    ...createServerAdding(parts),
    ...createServerEditing(parts),
    ...createServerViews(parts),
    ...createToolAdmin({ store, review, links, now, note, ownServer: access.own }),
    ...createCredentialAdmin(parts),
  };
  const subscriptions = [
    p.upstreams.onNotification((server, method) => {
      if (LIST_CHANGED.test(method)) checks.checkSoon(server);
    }),
    p.follower.on(SERVERS_SUBJECT, async () => {
      p.credentials.forget();
      await applyServers();
    }),
  ];
  return {
    admin,
    async start() {
      await applyConfiguredServers(p.configured, p);
      await applyServers();
    },
    checkSoon: checks.checkSoon,
    close() {
      for (const unsubscribe of subscriptions) unsubscribe();
      checks.close();
    },
  };
}

interface Parts extends ServerAdminPowers {
  readonly access: ServerAccess;
  readonly checks: ServerChecks;
  readonly publish: () => Promise<void>;
}

type Viewing = Pick<ServerAdmin, "list" | "get" | "restart" | "check" | "logs">;

function createServerViews({ store, upstreams, access, checks }: Parts): Viewing {
  const viewOf = async (row: ServerRow): Promise<ServerView> =>
    serverView(row, upstreams.health(row.name), await store.serverTools.list(row.name));
  return {
    async list(actor) {
      assertAdmin(actor);
      return Promise.all((await store.servers.list(actor.tenantId)).map(viewOf));
    },
    get: async (actor, name) => viewOf(await access.own(actor, name)),
    async restart(actor, name, signal) {
      const row = await access.own(actor, name);
      if (!row.enabled)
        throw new AppError("CONFLICT", "not_running", `server ${name} is switched off`, {
          remedy: `switch it on: ostiary servers set ${name} --enable`,
        });
      await upstreams.restart(name);
      return checks.check(row, signal);
    },
    check: async (actor, name, signal) => checks.check(await access.own(actor, name), signal),
    logs: async (actor, name) => upstreams.logs((await access.own(actor, name)).name),
  };
}

function createServerEditing(p: Parts): Pick<ServerAdmin, "update" | "remove"> {
  const { servers, serverTools } = p.store;
  return {
    async update(actor, name, { transport, settings, ...edit }, signal) {
      const before = await p.access.changeable(actor, name);
      const reach =
        transport === undefined ? null : await readTransport(transport, p.resolveProgram);
      if (reach) await sealSecrets(p.credentials, before, reach.secrets);
      const given = {
        ...edit,
        ...(reach ? { transport: reach.transport } : {}),
        ...(settings ? { settings: readSettings(settings, before.settings) } : {}),
      };
      const change = Object.fromEntries(
        Object.entries(given).filter(([, value]) => value !== undefined),
      );
      const after = await servers.update(name, { ...change, updatedAt: p.now() });
      if (after === null) throw serverNotFound(name, "it was removed meanwhile");
      const how = Object.keys(change).sort().join(", ");
      await p.note("upstream.changed", actor, auditFacts(after, { how }));
      await p.publish();
      await p.review.registerTools(after);
      return p.checks.check(after, signal, reach?.notes ?? []);
    },
    async remove(actor, name) {
      const row = await p.access.changeable(actor, name);
      const tools = await serverTools.list(name);
      const view = serverView(row, p.upstreams.health(name), tools);
      // First of all nobody can call its tools; if a later step fails, the removal can be repeated.
      await p.review.unregisterTools(name);
      await p.links.unlink(
        actor,
        tools.map((tool) => tool.name),
      );
      if (await servers.remove(name)) await p.note("upstream.removed", actor, auditFacts(row));
      p.credentials.forget(name);
      await p.publish();
      if (row.transport.kind === "stdio") await p.removeFolders(name);
      return view;
    },
  };
}
