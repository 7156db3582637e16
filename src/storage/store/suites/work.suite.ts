// Notes, plans, agents, questions: part of the store's suite.
import { describe, expect, test } from "vitest";
import type { Json } from "../../../contract/call.ts";
import { parseTextQuery, type TextQuery } from "../../../util/text/words.ts";
import { atOnce, T0 } from "./samples.suite.ts";
import { type AgentRow, type PlanRow, type QuestionRow, type Store } from "../store.ts";

const ann = { tenantId: "local", userId: "ann" };
const strangers = [
  { tenantId: "local", userId: "bob" },
  { tenantId: "other", userId: "ann" },
];
const PAGE = { limit: 10, offset: 0 };
export function workSuite(store: () => Store, another: () => Promise<Store>): void {
  describe("notes", () => {
    const put = (
      key: string,
      value: Json,
      more: { tags?: string[]; namespace?: string; tenantId?: string; expiresAt?: number } = {},
    ) =>
      store().memory.put({
        tenantId: more.tenantId ?? "local",
        namespace: more.namespace ?? "n",
        key,
        value,
        tags: more.tags ?? [],
        at: T0,
        expiresAt: more.expiresAt ?? null,
      });
    const place = { tenantId: "local", namespace: "n", tags: [] as string[], now: T0 + 1 };
    const query = (text: string): TextQuery => {
      const parsed = parseTextQuery(text);
      if (typeof parsed === "string") throw new Error(parsed);
      return parsed;
    };
    const found = async (text: string, tags: string[] = []) =>
      (await store().memory.search({ ...place, tags, query: query(text) }, PAGE)).rows
        .map((row) => row.key)
        .toSorted();

    test("words, phrases, exclusions and beginnings are found alike", async () => {
      await put("a", "The quick brown fox jumps");
      await put("b", { title: "Brown bread", list: ["quick recipe", 42] });
      await put("c", "Crème brûlée at ünïcode\ncafé-bar, see https://example.com/deep/path");
      await put("quick-key", null);
      expect(await found("quick")).toEqual(["a", "b", "quick-key"]);
      expect(await found("QUICK brown")).toEqual(["a", "b"]);
      expect(await found('"quick brown"')).toEqual(["a"]);
      expect(await found("quick -fox")).toEqual(["b", "quick-key"]);
      expect(await found('brown -"quick brown"')).toEqual(["b"]);
      expect(await found("bro*")).toEqual(["a", "b"]);
      expect(await found("creme BRULEE")).toEqual(["c"]);
      expect(await found("path")).toEqual(["c"]);
      expect(await found("café-bar")).toEqual(["c"]);
      expect(await found("example.com")).toEqual(["c"]);
      expect(await found("42")).toEqual(["b"]);
      expect(await found("nothing")).toEqual([]);
    });

    test("syntax of either database in a question is only words", async () => {
      await put("a", "near or and not select");
      for (const text of [
        "NEAR(a b)",
        "a OR b",
        "' or 1=1 --",
        "a:b",
        "words:near",
        "^near",
        "a & b | !c",
        "near + or",
        "\\",
        "{x}",
      ].filter((text) => typeof parseTextQuery(text) !== "string"))
        await expect(found(text)).resolves.toBeInstanceOf(Array);
      expect(await found("near AND or")).toEqual(["a"]);
    });

    test("the better hit comes first; pages and total agree", async () => {
      await put("much", "tea tea tea");
      await put(
        "little",
        "tea among a great many other words that have nothing to do with it at all",
      );
      const all = await store().memory.search({ ...place, query: query("tea") }, PAGE);
      expect(all.rows.map((row) => row.key)).toEqual(["much", "little"]);
      expect(all.total).toBe(2);
      for (const { score } of all.rows) expect(score).toBeGreaterThanOrEqual(0);
      const second = await store().memory.search(
        { ...place, query: query("tea") },
        { limit: 1, offset: 1 },
      );
      expect([second.rows.map((row) => row.key), second.total]).toEqual([["little"], 2]);
    });

    test("what changed, expired or was removed is not found under its old words", async () => {
      await put("a", "old");
      await put("a", "new");
      await put("gone", "new", { expiresAt: T0 + 1 });
      expect(await found("old")).toEqual([]);
      expect(await found("new")).toEqual(["a"]);
      await store().memory.clear({ ...place, key: "a", dryRun: false }, 50);
      expect(await found("new")).toEqual([]);
    });

    test("another namespace or tenant is another world", async () => {
      await put("a", "secret", { namespace: "other" });
      await put("a", "secret", { tenantId: "other" });
      expect(await found("secret")).toEqual([]);
      expect((await store().memory.list({ ...place, prefix: "" }, PAGE)).total).toBe(0);
      expect(await store().memory.clear({ ...place, dryRun: false }, 50)).toEqual({
        removed: 0,
        keys: [],
      });
    });

    test("listed by key, by beginning and by every tag", async () => {
      await put("b", 1, { tags: ["x", "y"] });
      await put("a", "é", { tags: ["x"], expiresAt: T0 + 5 });
      await put("%", null, { tags: ['q"x'] });
      await put("B", null);
      const keys = async (prefix: string, tags: string[] = []) =>
        (await store().memory.list({ ...place, prefix, tags }, PAGE)).rows.map((row) => row.key);
      expect(await keys("")).toEqual(["%", "B", "a", "b"]);
      expect(await keys("%")).toEqual(["%"]);
      expect(await keys("", ["x"])).toEqual(["a", "b"]);
      expect(await keys("", ["x", "y"])).toEqual(["b"]);
      expect(await keys("", ['q"x'])).toEqual(["%"]);
      expect(await found("1", ["y"])).toEqual(["b"]);
      const [entry] = (await store().memory.list({ ...place, prefix: "a" }, PAGE)).rows;
      expect(entry).toEqual({ key: "a", tags: ["x"], bytes: 4, updatedAt: T0, expiresAt: T0 + 5 });
    });

    test("clear tells first, then removes; sweep drops what is long over", async () => {
      for (const key of ["a", "b", "c"]) await put(key, 1, { tags: key === "c" ? [] : ["x"] });
      const which = { ...place, tags: ["x"] };
      expect(await store().memory.clear({ ...which, dryRun: true }, 1)).toEqual({
        removed: 2,
        keys: ["a"],
      });
      expect(await store().memory.clear({ ...which, dryRun: false }, 50)).toEqual({
        removed: 2,
        keys: ["a", "b"],
      });
      await put("d", 1, { expiresAt: T0 });
      expect(await store().memory.sweep(T0 - 1, 10)).toBe(0);
      expect(await store().memory.sweep(T0, 10)).toBe(1);
      expect((await store().memory.list({ ...place, prefix: "" }, PAGE)).total).toBe(1);
    });
  });

  describe("plans", () => {
    test("a plan is replaced only by whoever knows its version", async () => {
      const plan = (more: Partial<PlanRow> = {}): PlanRow => ({
        ...ann,
        place: "s1",
        id: "pln_1",
        version: 1,
        goal: "g",
        phases: [],
        currentPhaseId: 1,
        updatedAt: T0,
        ...more,
      });
      const { plans } = store();
      expect(
        await atOnce(4, [store(), await another()], (one) => one.plans.save(plan(), 0)).then(
          (all) => all.filter(Boolean),
        ),
      ).toHaveLength(1);
      expect(await plans.save(plan({ version: 2, currentPhaseId: null }), 1)).toBe(true);
      expect(await plans.save(plan({ version: 2 }), 1)).toBe(false);
      expect(await plans.get(ann, "s1")).toEqual(plan({ version: 2, currentPhaseId: null }));
      for (const stranger of strangers) expect(await plans.get(stranger, "s1")).toBeNull();
    });
  });

  describe("agents and questions", () => {
    const agent: AgentRow = {
      id: "agt_1",
      ...ann,
      parentId: null,
      groupId: null,
      executionId: "exec_1",
      instanceId: "i1",
      depth: 1,
      objective: "o",
      tools: ["system/echo"],
      budget: { toolCalls: 5, tokens: 100 },
      status: "running",
      toolCalls: 0,
      tokens: 0,
      lastEvent: "started",
      result: null,
      startedAt: T0,
      endsAt: T0 + 10,
      endedAt: null,
    };
    const question: QuestionRow = {
      id: "qst_1",
      ...ann,
      executionId: "exec_1",
      question: "Which?",
      context: null,
      options: ["a", "b"],
      state: "pending",
      answer: null,
      answeredBy: null,
      createdAt: T0,
      expiresAt: T0 + 100,
      presentedAt: null,
      decidedAt: null,
    };

    test("an agent is counted while it runs and stays as it ended", async () => {
      const { agents } = store();
      await agents.create(agent);
      expect(await agents.update("agt_1", { toolCalls: 2, tokens: 30, lastEvent: "called" })).toBe(
        true,
      );
      await agents.say({
        id: "msg_2",
        agentId: "agt_1",
        sender: "agent",
        body: "done",
        at: T0 + 2,
      });
      await agents.say({ id: "msg_1", agentId: "agt_1", sender: "caller", body: "go", at: T0 + 1 });
      expect((await agents.messages("agt_1", 10)).map(({ body }) => body)).toEqual(["go", "done"]);
      expect((await agents.open({ endsBefore: T0 + 11 })).map(({ id }) => id)).toEqual(["agt_1"]);
      const second = { ...agent, id: "agt_2", startedAt: T0 + 1, groupId: "grp_1" };
      for (const row of [second, { ...second, id: "agt_3", startedAt: T0 }])
        await agents.create(row);
      const ofGroup = async (owner: typeof ann) =>
        (await agents.group(owner, "grp_1")).map(({ id }) => id);
      expect(await ofGroup(ann)).toEqual(["agt_3", "agt_2"]);
      expect(await ofGroup({ ...ann, userId: "bob" })).toEqual([]);
      await agents.update("agt_1", { status: "success", result: "yes", endedAt: T0 + 3 });
      expect(await agents.update("agt_1", { status: "failed", endedAt: T0 + 4 })).toBe(false);
      expect(await agents.get(ann, "agt_1")).toEqual({
        ...agent,
        toolCalls: 2,
        tokens: 30,
        lastEvent: "called",
        status: "success",
        result: "yes",
        endedAt: T0 + 3,
      });
      for (const stranger of strangers) expect(await agents.get(stranger, "agt_1")).toBeNull();
    });

    test("a question has one answer, in time; unseen ones end as not presented", async () => {
      const { questions } = store();
      await questions.ask(question);
      await questions.ask({ ...question, id: "qst_2", createdAt: T0 + 1 });
      expect(
        (await questions.list({ tenantId: "local", userId: "ann", state: "pending" }, 10)).map(
          ({ id }) => id,
        ),
      ).toEqual(["qst_2", "qst_1"]);
      expect(await questions.list({ tenantId: "other" }, 10)).toEqual([]);
      const answer = { state: "answered", answer: "a", answeredBy: "ann", at: T0 + 5 } as const;
      const answers = await atOnce(5, [store(), await another()], (one) =>
        one.questions.decide("qst_1", answer),
      );
      expect(answers.filter(Boolean)).toHaveLength(1);
      expect(await questions.get("local", "qst_1")).toEqual({
        ...question,
        state: "answered",
        answer: "a",
        answeredBy: "ann",
        decidedAt: T0 + 5,
      });
      expect(await questions.decide("qst_2", { ...answer, at: T0 + 100 })).toBeNull();
      expect(await questions.expire("qst_2", T0 + 99)).toBeNull();
      expect(await questions.expire("qst_2", T0 + 100)).toMatchObject({ state: "not_presented" });
      await questions.ask({ ...question, id: "qst_3" });
      await questions.presented(["qst_3"], T0 + 1);
      expect(await questions.expire("qst_3", T0 + 100)).toMatchObject({ state: "expired" });
    });
  });
}
