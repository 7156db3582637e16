// Upstream servers: part of the store's suite.
import { describe, expect, test } from "vitest";
import { T0 } from "./samples.suite.ts";
import {
  AlreadyExists,
  type CredentialRow,
  type ServerRow,
  type ServerToolRow,
  type ServerToolVersion,
  type Store,
} from "../store.ts";

const server = (change: Partial<ServerRow> = {}): ServerRow => ({
  name: "files",
  tenantId: "local",
  description: "files of the team",
  transport: {
    kind: "stdio",
    argv: ["node", "server.js"],
    env: { A: "${credential:A}" },
    isolation: "sandbox",
    folders: [{ path: "/srv", access: "ro" }],
    network: { hosts: ["example.com"] },
    localSockets: false,
  },
  settings: {
    timeoutMs: 30_000,
    maxConcurrent: 8,
    maxQueued: 64,
    recheckMs: 0,
    breakerFailures: 5,
    breakerResetMs: 30_000,
    maxResultBytes: 1_000_000,
    credentials: "shared",
  },
  enabled: true,
  origin: "api",
  createdBy: "owner",
  createdAt: T0,
  updatedAt: T0,
  ...change,
});

const tool = (change: Partial<ServerToolRow> = {}): ServerToolRow => ({
  server: "files",
  method: "tools/call",
  upstreamName: "read",
  name: "files/read",
  wireName: "files_read",
  state: "pending",
  reason: null,
  approvedPin: null,
  seenPin: "a".repeat(64),
  terms: {
    category: "file",
    risk: "moderate",
    effects: "network",
    idempotent: false,
    openWorld: true,
    cacheable: false,
  },
  findings: [
    {
      kind: "link",
      severity: "info",
      path: "/description",
      message: "a link",
      excerpt: "http://x",
    },
  ],
  firstSeenAt: T0,
  seenAt: T0,
  decidedBy: null,
  decidedAt: null,
  ...change,
});

const version = (change: Partial<ServerToolVersion> = {}): ServerToolVersion => ({
  server: "files",
  name: "files/read",
  pin: "a".repeat(64),
  definition: {
    method: "tools/call",
    name: "read",
    title: null,
    description: "Read\u0000 it",
    inputSchema: { type: "object" },
    outputSchema: null,
    annotations: null,
    operation: null,
  },
  firstSeenAt: T0,
  approvedAt: null,
  approvedBy: null,
  ...change,
});

const secret = (change: Partial<CredentialRow> = {}): CredentialRow => ({
  server: "files",
  tenantId: "local",
  userId: "",
  name: "A",
  sealed: "SEALED",
  updatedAt: T0,
  ...change,
});

export function upstreamSuite(store: () => Store): void {
  describe("upstream", () => {
    test("a server comes back as it was made; its name is taken in every tenant", async () => {
      const { servers } = store();
      await servers.create(server());
      await servers.create(
        server({
          name: "web",
          tenantId: "other",
          enabled: false,
          transport: { kind: "http", url: "https://example.com/mcp", headers: {}, auth: "oauth" },
        }),
      );
      await expect(servers.create(server({ tenantId: "other" }))).rejects.toThrow(AlreadyExists);
      expect(await servers.get("files")).toEqual(server());
      expect(await servers.get("none")).toBeNull();
      expect((await servers.list()).map(({ name }) => name)).toEqual(["files", "web"]);
      expect((await servers.list("other")).map(({ name, enabled }) => [name, enabled])).toEqual([
        ["web", false],
      ]);
    });

    test("what is not named in a change stays", async () => {
      const { servers } = store();
      await servers.create(server());
      const change = { enabled: false, description: "", updatedAt: T0 + 1 };
      expect(await servers.update("files", change)).toEqual(server(change));
      expect(await servers.update("none", change)).toBeNull();
    });

    test("a tool is replaced by name; texts that no database takes come back", async () => {
      const { serverTools } = store();
      const odd = tool({
        name: "files/odd",
        upstreamName: "o\u0000d\ud800",
        state: "refused",
        reason: "name",
      });
      await serverTools.save([tool(), odd], [version()]);
      const later = tool({
        state: "approved",
        approvedPin: "a".repeat(64),
        decidedBy: "owner",
        decidedAt: T0 + 5,
        firstSeenAt: T0 + 9,
      });
      await serverTools.save([later], [version({ approvedAt: T0 + 5, approvedBy: "owner" })]);
      expect(await serverTools.list("files")).toEqual([odd, { ...later, firstSeenAt: T0 }]);
      expect(await serverTools.get("files", "files/odd")).toEqual(odd);
      expect(await serverTools.get("web", "files/odd")).toBeNull();
      expect(await serverTools.version("files", "files/read", "a".repeat(64))).toEqual(
        version({ approvedAt: T0 + 5, approvedBy: "owner" }),
      );
    });

    test("a decision is not undone by whoever looked before it", async () => {
      const { serverTools } = store();
      const decided = tool({
        state: "approved",
        approvedPin: "a".repeat(64),
        decidedBy: "owner",
        decidedAt: T0 + 5,
      });
      await serverTools.save([decided], []);
      await serverTools.save([tool({ seenAt: T0 + 9 })], []);
      expect(await serverTools.get("files", "files/read")).toEqual(decided);
      const changed = { ...decided, state: "changed", seenPin: "b".repeat(64) } as const;
      await serverTools.save([changed], []);
      expect(await serverTools.get("files", "files/read")).toEqual(changed);
    });

    test("every version is kept, newest first; its approval is not forgotten", async () => {
      const { serverTools } = store();
      await serverTools.save([], [version({ approvedAt: T0 + 1, approvedBy: "owner" })]);
      await serverTools.save([], [version({ pin: "b".repeat(64), firstSeenAt: T0 + 2 })]);
      await serverTools.save([], [version({ firstSeenAt: T0 + 3 })]);
      const kept = await serverTools.versions("files", "files/read");
      expect(
        kept.map(({ pin, approvedAt, firstSeenAt }) => [pin[0], approvedAt, firstSeenAt]),
      ).toEqual([
        ["b", null, T0 + 2],
        ["a", T0 + 1, T0],
      ]);
      expect(await serverTools.version("files", "files/read", "c".repeat(64))).toBeNull();
    });

    test("a credential belongs to one user of one server", async () => {
      const { credentials } = store();
      await credentials.put(secret());
      await credentials.put(secret({ sealed: "NEWER", updatedAt: T0 + 1 }));
      await credentials.put(secret({ userId: "ann", sealed: "HERS" }));
      expect(await credentials.get("files", "", "A")).toEqual(
        secret({ sealed: "NEWER", updatedAt: T0 + 1 }),
      );
      expect(await credentials.get("files", "ben", "A")).toBeNull();
      expect(await credentials.list("files", "ann")).toEqual([
        secret({ userId: "ann", sealed: "HERS" }),
      ]);
      expect(await credentials.remove("files", "ann", "A")).toBe(true);
      expect(await credentials.remove("files", "ann", "A")).toBe(false);
      expect((await credentials.list("files", "")).length).toBe(1);
    });

    test("a server leaves with its tools, their versions and its credentials", async () => {
      const { servers, serverTools, credentials } = store();
      await servers.create(server());
      await servers.create(server({ name: "web" }));
      await serverTools.save([tool(), tool({ server: "web", name: "web/read" })], [version()]);
      await credentials.put(secret());
      await credentials.put(secret({ server: "web" }));
      expect(await servers.remove("files")).toBe(true);
      expect(await servers.remove("files")).toBe(false);
      expect(await serverTools.list("files")).toEqual([]);
      expect(await serverTools.versions("files", "files/read")).toEqual([]);
      expect(await credentials.list("files", "")).toEqual([]);
      expect(
        (await serverTools.list("web")).length + (await credentials.list("web", "")).length,
      ).toBe(2);
    });
  });
}
