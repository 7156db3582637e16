// Versions of capsules, personas and models: part of the store's suite.
import { beforeEach, describe, expect, test } from "vitest";
import { CAPSULE_DEFAULTS } from "../../../contract/agent-config.ts";
import {
  AlreadyExists,
  EVERY_TENANT,
  type CapsuleRow,
  type ModelRow,
  type PersonaRow,
  type Store,
} from "../store.ts";
import { atOnce, T0 } from "./samples.suite.ts";

const capsule: CapsuleRow = {
  id: "c1",
  tenantId: "local",
  name: "research",
  version: 1,
  parent: null,
  status: "active",
  isDefault: false,
  capabilities: ["system/time"],
  listing: "full",
  ...CAPSULE_DEFAULTS,
  createdAt: T0,
  updatedAt: T0,
};

const persona: PersonaRow = {
  id: "critic",
  tenantId: "local",
  name: "Critic",
  prompt: "Doubt it.",
  traits: { tone: "dry" },
  knobs: { intelligence: 7 },
  capabilities: null,
  createdAt: T0,
  updatedAt: T0,
};

const model = (name: string, change: Partial<ModelRow> = {}): ModelRow => ({
  tenantId: "local",
  name,
  settings: { provider: "openai", abilities: ["generate"] },
  keyReference: "env:KEY",
  sealedKey: null,
  source: "api",
  enabled: true,
  position: 0,
  createdAt: T0,
  updatedAt: T0,
  ...change,
});

export function agentRecordsSuite(current: () => Store, another: () => Promise<Store>): void {
  describe("versions of capsules", () => {
    let store: Store;
    const statuses = async (): Promise<string[]> =>
      (await store.capsules.versions("c1", { limit: 9 })).map(
        ({ version, status }) => `${version} ${status}`,
      );
    beforeEach(async () => {
      store = current();
      await store.capsules.create(capsule);
    });

    test("every edit is a version that keeps its body, its parent and its author", async () => {
      const agentConfig = { ...CAPSULE_DEFAULTS.agentConfig, autonomy: 2 };
      const edited = await store.capsules.update("c1", {
        agentConfig,
        systemPrompt: "Cite.",
        author: "ann",
        updatedAt: T0 + 1,
      });
      expect(edited).toEqual({
        ...capsule,
        version: 2,
        parent: 1,
        agentConfig,
        systemPrompt: "Cite.",
        updatedAt: T0 + 1,
      });
      expect(await store.capsules.get("c1")).toEqual(edited);
      expect(await statuses()).toEqual(["2 active", "1 archived"]);
      const second = await store.capsules.version("c1", 2);
      expect(second).toMatchObject({ parent: 1, author: "ann", createdAt: T0 + 1 });
      expect(second?.body).toMatchObject({ systemPrompt: "Cite.", agentConfig, name: "research" });
      expect((await store.capsules.version("c1", 1))?.body.systemPrompt).toBe("");
      expect(await store.capsules.version("c1", 3)).toBeNull();
      expect(await store.capsules.versions("c1", { limit: 9, before: 2 })).toHaveLength(1);
      expect(await store.capsules.versions("c9", { limit: 9 })).toEqual([]);
    });

    test("a draft does not act until it is activated, and then archives the former", async () => {
      const draft = await store.capsules.draft("c1", {
        capabilities: ["system/echo"],
        author: "ann",
        updatedAt: T0 + 1,
      });
      expect(draft).toMatchObject({ version: 2, status: "draft", parent: 1 });
      expect(await store.capsules.get("c1")).toEqual(capsule);
      const acting = await store.capsules.activate("c1", 2, { author: "bo", updatedAt: T0 + 2 });
      expect(acting).toEqual({
        ...capsule,
        version: 2,
        parent: 1,
        capabilities: ["system/echo"],
        updatedAt: T0 + 2,
      });
      expect(await store.capsules.get("c1")).toEqual(acting);
      expect(await statuses()).toEqual(["2 active", "1 archived"]);
      expect(await store.capsules.draft("c9", { updatedAt: T0 })).toBeNull();
      expect(await store.capsules.activate("c1", 9, { updatedAt: T0 })).toBeNull();
      expect(await store.capsules.activate("c9", 1, { updatedAt: T0 })).toBeNull();
    });

    test("an older body comes back as a new version", async () => {
      await store.capsules.update("c1", { systemPrompt: "worse", updatedAt: T0 + 1 });
      await store.capsules.draft("c1", { systemPrompt: "later", updatedAt: T0 + 2 });
      const back = await store.capsules.activate("c1", 1, { author: "ann", updatedAt: T0 + 3 });
      expect(back).toMatchObject({ version: 4, parent: 1, systemPrompt: "", status: "active" });
      expect(await statuses()).toEqual(["4 active", "3 draft", "2 archived", "1 archived"]);
      // A draft that something newer has overtaken gets a number of its own, so that versions only rise.
      const late = await store.capsules.activate("c1", 3, { author: "ann", updatedAt: T0 + 4 });
      expect(late).toMatchObject({ version: 5, parent: 3, systemPrompt: "later" });
      expect(await statuses()).toEqual([
        "5 active",
        "4 archived",
        "3 archived",
        "2 archived",
        "1 archived",
      ]);
    });

    test("one version acts, whatever two instances do at once", async () => {
      const stores: [Store, Store] = [store, await another()];
      await atOnce(8, stores, async (s, i) => {
        const made = await s.capsules.draft("c1", { systemPrompt: `${i}`, updatedAt: T0 + i });
        await s.capsules.activate("c1", made?.version ?? 0, { updatedAt: T0 + i });
      });
      const rows = await store.capsules.versions("c1", { limit: 50 });
      const active = rows.filter(({ status }) => status === "active");
      const acting = await store.capsules.get("c1");
      expect(active.map(({ version }) => version)).toEqual([acting?.version]);
      expect(active[0]?.body.systemPrompt).toBe(acting?.systemPrompt);
    });
  });

  test("personas: create, get, list, change, remove, each tenant its own", async () => {
    const { personas } = current();
    await personas.create(persona);
    expect(await personas.get("local", "critic")).toEqual(persona);
    expect(await personas.get("other", "critic")).toBeNull();
    await expect(personas.create(persona)).rejects.toEqual(new AlreadyExists("persona"));
    await personas.create({ ...persona, tenantId: "other" });
    const change = { capabilities: ["file/read"], knobs: {}, updatedAt: T0 + 1 };
    const changed = { ...persona, ...change };
    expect(await personas.update("local", "critic", change)).toEqual(changed);
    expect(await personas.update("local", "none", change)).toBeNull();
    expect(await personas.list("local", { limit: 9 })).toEqual([changed]);
    expect(await personas.list("local", { limit: 9, after: "critic" })).toEqual([]);
    expect(await personas.remove("local", "critic")).toBe(true);
    expect(await personas.remove("local", "critic")).toBe(false);
    expect(await personas.get("other", "critic")).toEqual({ ...persona, tenantId: "other" });
  });

  test("models: those of the settings are replaced together, those of people stay", async () => {
    const { models } = current();
    await models.create(model("mine", { position: 5 }));
    await expect(models.create(model("mine"))).rejects.toEqual(new AlreadyExists("model"));
    const set = (name: string) => model(name, { tenantId: EVERY_TENANT, source: "settings" });
    await models.replaceSettings([set("a"), set("b")]);
    await models.replaceSettings([set("b"), set("c")]);
    expect((await models.list(EVERY_TENANT)).map(({ name }) => name)).toEqual(["b", "c"]);
    expect(await models.list("local")).toEqual([model("mine", { position: 5 })]);
    await models.create(model("first", { position: 1 }));
    expect((await models.list("local")).map(({ name }) => name)).toEqual(["first", "mine"]);
    const change = { enabled: false, sealedKey: "S", keyReference: null, updatedAt: T0 + 1 };
    expect(await models.update("local", "mine", change)).toEqual({
      ...model("mine", { position: 5 }),
      ...change,
    });
    expect(await models.get("local", "mine")).toMatchObject({ enabled: false });
    expect(await models.update("other", "mine", change)).toBeNull();
    expect(await models.remove("local", "mine")).toBe(true);
    expect(await models.remove("local", "mine")).toBe(false);
  });
}
