// Opens what leads to upstream servers: credentials, connections, their administration, and the runners.
import { createLinking } from "../core/identity/link-tools.ts";
import type { Call, JsonObject, Json } from "../contract/call.ts";
import type { Egress } from "../reach/egress/egress.ts";
import { apiCaller } from "../reach/http-api/call.ts";
import { createApiAdmin, type ApiAdmin } from "../reach/http-api/admin.ts";
import type { Directory } from "../core/identity/directory.ts";
import type { UpstreamFigure } from "../core/record/metrics.ts";
import type { Relations } from "../governance/relations/relation.ts";
import { externalRunner } from "../core/run/external.ts";
import type { Runners } from "../core/run/index.ts";
import { mcpRunner } from "../core/run/mcp.ts";
import type { Sandbox } from "../reach/sandbox/sandbox.ts";
import type { Follower } from "../storage/store/follow.ts";
import type { Store } from "../storage/store/store.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import type { Registry } from "../tools/registry.ts";
import {
  openCredentials,
  type OpenedCredentials,
} from "../reach/upstream/credentials/credentials.ts";
import { createLoginAdmin, type LoginAdmin } from "../reach/upstream/admin/login-admin.ts";
import type { ConfiguredServer } from "../reach/upstream/admin/configured.ts";
import { openServerAdmin } from "../reach/upstream/admin/admin.ts";
import { pinOf } from "../reach/upstream/definitions/definition.ts";
import { openUpstreams } from "../reach/upstream/manager.ts";
import { addressesAt } from "../reach/upstream/oauth/index.ts";
import type { ConnectServer } from "../reach/upstream/connection/pool.ts";
import { createReview } from "../reach/upstream/definitions/review.ts";
import type { FolderGuard } from "../reach/upstream/stdio/process.ts";
import type { ServerAdmin } from "../reach/upstream/admin/server-admin.ts";
import type { Upstreams } from "../reach/upstream/upstream.ts";
import { createEraCache } from "../reach/upstream/connection/era-cache.ts";
import type { Ids } from "../util/ids.ts";
import type { Masker } from "../util/secrets/masker.ts";
import type { RecordNote } from "./base.ts";
import { createLate } from "./late.ts";

export interface UpstreamParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly directory: Directory;
  readonly relations: Relations;
  readonly follower: Follower;
  readonly sandbox: Sandbox;
  readonly egress: Egress;
  readonly tracing: Pick<Tracing, "client">;
  readonly masker: Masker;
  readonly serverSecret: string;
  readonly dataDir: string;
  readonly guard: FolderGuard;
  readonly baseUrl: () => string;
  /** Called when a server is reached or lost: callers see other tools then. */
  readonly onStatus: () => void;
  readonly tenantId: string;
  /** `mcpServers` of the settings, and the folder they lie in. */
  readonly configured: Omit<ConfiguredServer, "tenantId">;
  readonly checkOutput: (
    schema: JsonObject,
    output: Json,
  ) => readonly { path: string; message: string }[] | null;
  readonly ids: Ids;
  readonly now: () => number;
  readonly note: RecordNote;
  readonly report: (call: Call, cause: unknown) => void;
  readonly background: (work: Promise<unknown>) => void;
  readonly log: { warn(fields: object, message: string): void };
}

export interface OpenedUpstream {
  readonly upstreams: Upstreams;
  readonly admin: ServerAdmin;
  readonly apis: ApiAdmin;
  readonly credentials: OpenedCredentials;
  readonly logins: LoginAdmin;
  readonly runners: Required<Pick<Runners, "mcp" | "external">>;
  figures(): readonly UpstreamFigure[];
  /** True while a server does not answer. */
  isAway(server: string): boolean;
  /** Rises whenever that changes for one of them. */
  revision(): number;
  /** Takes over the servers there are; connecting to them happens in the background. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function openUpstream(p: UpstreamParts): OpenedUpstream {
  const { store, egress, masker, now, note } = p;
  const addresses = addressesAt(p.baseUrl);
  const credentials = openCredentials({
    ...addresses,
    store,
    serverSecret: p.serverSecret,
    masker,
    egress,
    masked: masker.shownText,
    ids: p.ids,
    now,
  });
  let revision = 0;
  // Reviews what a server offers; known once administration is open, and no server is asked before `start`.
  const reviewer = createLate<{ readonly checkSoon: (server: string) => void }>("server review");
  const upstreams = openUpstreams({
    connect: lazyConnect(p),
    credentials,
    tracing: p.tracing,
    imported: ({ transport }) => (transport.kind === "api" ? transport.operations : []),
    masked: masker.shownText,
    cleaned: (value) => masker.result(value).answer,
    now,
    onStatus(server, status, reason) {
      revision++;
      p.onStatus();
      p.background(
        note(
          "upstream.status",
          { tenantId: p.tenantId, userId: "system" },
          { server, status, reason },
        ),
      );
      // What it offers may have changed while it was away.
      if (status === "up") reviewer.get().checkSoon(server);
    },
    onDrift: (server) => reviewer.get().checkSoon(server),
    report: (fields, message) => p.log.warn(fields, message),
  });
  const admin = adminFor(p, upstreams, credentials);
  reviewer.set(admin);
  return {
    upstreams,
    admin: admin.admin,
    apis: createApiAdmin({
      servers: admin.admin,
      importApi: async (source, signal) =>
        (await import("../reach/http-api/import.ts")).apiImporter({ egress })(source, signal),
    }),
    credentials,
    logins: createLoginAdmin({
      servers: store.servers,
      logins: credentials.logins,
      addresses,
      note,
      checkSoon: admin.checkSoon,
    }),
    runners: runnersFor(p, upstreams, credentials),
    figures: () => upstreams.names().map((name) => figureOf(name, upstreams)),
    isAway: (server) => upstreams.health(server)?.status === "down",
    revision: () => revision,
    async start() {
      await admin.start();
      for (const row of await store.servers.list()) if (row.enabled) admin.checkSoon(row.name);
    },
    async close() {
      admin.close();
      await upstreams.close();
    },
  };
}

/** Loads the MCP client with the first server: an installation without one does not pay for it. */
function lazyConnect({ sandbox, egress, dataDir, guard, now }: UpstreamParts): ConnectServer {
  const eras = createEraCache(now);
  return async (row, credential, options) => {
    const [{ connect }, { openStdio }] = await Promise.all([
      import("../reach/upstream/connection/connect.ts"),
      import("../reach/upstream/stdio/stdio.ts"),
    ]);
    const powers = {
      egress,
      eras,
      openStdio: (...of: [typeof row, typeof credential, typeof options.events]) =>
        openStdio(...of, { sandbox, egress, dataDir, guard }),
    };
    return connect(row, credential, { ...options, powers });
  };
}

function adminFor(
  p: UpstreamParts,
  upstreams: Upstreams,
  credentials: OpenedCredentials,
): ReturnType<typeof openServerAdmin> {
  const { store, registry, follower, now, note } = p;
  return openServerAdmin({
    store,
    upstreams,
    credentials,
    review: createReview({
      store,
      registry,
      now,
      note,
      toolsChanged: () => follower.changed("tools"),
    }),
    links: createLinking(p),
    follower,
    now,
    note,
    configured: { ...p.configured, tenantId: p.tenantId },
    removeFolders: async (server) =>
      (await import("../reach/upstream/stdio/folder.ts")).removeFolders(server, p.dataDir),
    resolveProgram: async (...of) =>
      (await import("../reach/upstream/stdio/program.ts")).resolveProgram(...of),
    report: (fields, message) => p.log.warn(fields, message),
  });
}

function runnersFor(
  { masker, checkOutput, report, egress }: UpstreamParts,
  upstreams: Upstreams,
  credentials: OpenedCredentials,
): OpenedUpstream["runners"] {
  const common = { masker, checkOutput, report };
  return {
    mcp: mcpRunner({ ...common, call: (call) => upstreams.call(call) }),
    external: externalRunner({
      ...common,
      call: apiCaller({ egress, credentials, guarded: upstreams.guarded, pinOf }),
    }),
  };
}

function figureOf(name: string, upstreams: Upstreams): UpstreamFigure {
  const health = upstreams.health(name);
  return { name, up: health?.status === "up", breaker: health?.breaker ?? "closed" };
}
