// What becomes of a server's tools, through the real store and registry.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../contract/call.ts";
import {
  openStore,
  type ForeignDefinition,
  type ServerRow,
  type ServerToolRow,
  type Store,
} from "../../../storage/store/store.ts";
import { openRegistry, type Registry } from "../../../tools/registry.ts";
import { DEFAULT_SETTINGS } from "../admin/input.ts";
import { pinOf } from "./definition.ts";
import { createReview, type Review } from "./review.ts";

let dataDir: string;
let store: Store;
let registry: Registry;
let review: Review;
let noted: { action: string; body: JsonObject }[];
let told: number;
let clock = 1_000;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "ostiary-review-"));
  store = await openStore("sqlite:store.db", { dataDir });
  registry = await openRegistry(store, []);
  [noted, told] = [[], 0];
  review = createReview({
    store,
    registry,
    now: () => ++clock,
    note: (action, _who, body) => Promise.resolve(void noted.push({ action, body })),
    toolsChanged: () => Promise.resolve(void told++),
  });
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const server = (change: Partial<ServerRow> = {}): ServerRow => ({
  name: "files",
  tenantId: "local",
  description: "",
  transport: { kind: "http", url: "http://127.0.0.1/mcp", headers: {}, auth: "headers" },
  settings: DEFAULT_SETTINGS,
  enabled: true,
  origin: "api",
  createdBy: "owner",
  createdAt: 0,
  updatedAt: 0,
  ...change,
});
const offers = (name: string, change: Partial<ForeignDefinition> = {}): ForeignDefinition => ({
  method: "tools/call",
  name,
  title: null,
  description: `Does ${name}.`,
  inputSchema: { type: "object" },
  outputSchema: null,
  annotations: null,
  operation: null,
  ...change,
});
const seen = (...definitions: ForeignDefinition[]) => review.recordOffer(server(), definitions);
const stateOf = async (name: string) => (await store.serverTools.get("files", name))?.state;
const approve = (name: string) =>
  review.decide(server(), (rows) => {
    const row = rows.find((one) => one.name === name) as ServerToolRow;
    return Promise.resolve({
      rows: [
        {
          ...row,
          state: "approved",
          approvedPin: row.seenPin,
          decidedBy: "owner",
          decidedAt: ++clock,
        },
      ],
      versions: [],
    });
  });

describe("what a server offers", () => {
  test("a new tool waits: registered under its names, visible to nobody, with a proposal", async () => {
    const [row] = await seen(offers("read_file"));
    expect(row).toMatchObject({
      name: "files/read_file",
      wireName: "files_read_file",
      state: "pending",
      approvedPin: null,
      seenPin: pinOf(offers("read_file")),
      decidedBy: null,
    });
    expect(registry.get("files_read_file")).toMatchObject({
      name: "files/read_file",
      linkState: "pending_link",
      provider: "mcp",
      tags: ["files", "upstream"],
      route: { server: "files", method: "tools/call", name: "read_file" },
    });
    expect(noted).toEqual([
      {
        action: "upstream.tools_seen",
        body: expect.objectContaining({
          server: "files",
          tools: [
            expect.objectContaining({ name: "files/read_file", state: "pending", was: null }),
          ],
        }) as JsonObject,
      },
    ]);
    expect(told).toBe(1);
  });

  test("the same look again changes, stores and tells nothing", async () => {
    await seen(offers("read"));
    const { revision } = registry;
    await seen(offers("read"));
    expect(registry.revision).toBe(revision);
    expect([noted.length, told]).toEqual([1, 1]);
  });

  test("T12: another byte disables an approved tool and keeps the old version; the old byte brings it back", async () => {
    await seen(offers("read"));
    await approve("files/read");
    const approved = registry.get("files/read");
    expect(approved).toMatchObject({
      linkState: "linked",
      version: pinOf(offers("read")).slice(0, 12),
    });
    await seen(offers("read", { description: "Does read. " }));
    expect(await stateOf("files/read")).toBe("changed");
    expect(registry.get("files/read")).toMatchObject({
      linkState: "pending_link",
      description: "Does read.",
      route: approved?.route,
    });
    expect((await store.serverTools.versions("files", "files/read")).length).toBe(2);
    await seen(offers("read"));
    expect(await stateOf("files/read")).toBe("approved");
    expect(registry.get("files/read")).toMatchObject({ linkState: "linked" });
  });

  test("what is no longer offered is hidden, and is back as it was when it is offered again", async () => {
    await seen(offers("read"), offers("write"));
    await approve("files/read");
    await seen(offers("write"));
    expect(await stateOf("files/read")).toBe("removed");
    expect(registry.get("files/read")).toMatchObject({ linkState: "pending_link" });
    await seen(offers("read"), offers("write"));
    expect(await stateOf("files/read")).toBe("approved");
    expect(await stateOf("files/write")).toBe("pending");
  });

  test("a no holds until something else is offered", async () => {
    await seen(offers("read"));
    await review.decide(server(), (rows) =>
      Promise.resolve({
        rows: rows.map((row) => ({
          ...row,
          state: "rejected" as const,
          decidedBy: "owner",
          decidedAt: ++clock,
        })),
        versions: [],
      }),
    );
    await seen(offers("read"));
    expect(await stateOf("files/read")).toBe("rejected");
    await seen();
    await seen(offers("read"));
    expect(await stateOf("files/read")).toBe("rejected");
    await seen(offers("read", { description: "Another." }));
    expect(await stateOf("files/read")).toBe("pending");
  });

  test("T13: a name that could be mistaken for another's is refused, whatever it describes", async () => {
    await review.recordOffer(server({ name: "files_read" }), [offers("it")]);
    const rows = await seen(offers("read_it"), offers("READ-IT"), offers("fine"));
    expect(rows.map(({ upstreamName, state }) => [upstreamName, state]).sort()).toEqual([
      ["READ-IT", "refused"],
      ["fine", "pending"],
      ["read_it", "refused"],
    ]);
    expect(registry.get("files_read_it")).toMatchObject({ name: "files_read/it" });
    expect(rows.find(({ upstreamName }) => upstreamName === "read_it")?.reason).toContain(
      "files_read/it",
    );
  });

  test("T15: a definition beyond all bounds is refused with its reason, and its neighbours are taken", async () => {
    const rows = await seen(
      offers("remote", {
        inputSchema: { type: "object", properties: { a: { $ref: "https://example.com/a.json" } } },
      }),
      offers("ok"),
    );
    expect(rows.map(({ name, state }) => [name, state])).toEqual([
      ["files/ok", "pending"],
      ["files/remote", "refused"],
    ]);
    expect(registry.get("files/remote")).toBeNull();
  });

  test("what is offered twice under one name can be called under none, also when it was approved", async () => {
    await seen(offers("read"));
    await approve("files/read");
    await seen(offers("read"), offers("read", { description: "The other." }));
    expect(await stateOf("files/read")).toBe("refused");
    expect(registry.get("files/read")).toMatchObject({ linkState: "pending_link" });
    await seen(offers("read"));
    expect(registry.get("files/read")).toMatchObject({ linkState: "linked" });
  });

  test("two names that become one here: the first keeps it, the second is shown as refused", async () => {
    const rows = await seen(offers("a.b"), offers("a/b"));
    expect(
      rows.map(({ upstreamName, name, state }) => [
        upstreamName,
        name.replace(/_[0-9a-f]{8}$/, "_…"),
        state,
      ]),
    ).toEqual([
      ["a.b", "files/a_b", "pending"],
      ["a/b", "files/refused_…", "refused"],
    ]);
  });

  test("a name that no client could say is refused and kept where it can be shown", async () => {
    const [row] = await seen(offers("réad\u202e"));
    expect(row).toMatchObject({ state: "refused", upstreamName: "réad\u202e" });
    expect(row?.name).toMatch(/^files\/refused_[0-9a-f]{8}$/);
  });
});

describe("the server itself", () => {
  test("switched off, its approved tools are hidden; on again, they are back", async () => {
    await seen(offers("read"));
    await approve("files/read");
    await review.registerTools(server({ enabled: false }));
    expect(registry.get("files/read")).toMatchObject({ linkState: "pending_link" });
    await review.registerTools(server());
    expect(registry.get("files/read")).toMatchObject({ linkState: "linked" });
  });

  test("a tool that an administrator switched off stays off through all of it", async () => {
    await seen(offers("read"));
    await approve("files/read");
    await registry.setEnabled("files/read", false);
    await seen(offers("read", { description: "Changed." }));
    await seen(offers("read"));
    expect(registry.get("files/read")).toMatchObject({ enabled: false, linkState: "linked" });
  });

  test("gone, nothing of it is left in the registry, and its names are free", async () => {
    await seen(offers("read"), offers("write"));
    await review.unregisterTools("files");
    expect(registry.all()).toEqual([]);
  });
});
