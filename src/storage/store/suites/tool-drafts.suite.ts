// Versions of drafted tools: part of the store's suite.
import { beforeEach, describe, expect, test } from "vitest";
import { AlreadyExists, type DraftTerms, type Store, type ToolDraftRow } from "../store.ts";
import { T0 } from "./samples.suite.ts";

const row = (number: number, change: Partial<ToolDraftRow> = {}): ToolDraftRow => ({
  id: `dft_${number}`,
  name: "system/made",
  number,
  version: `${number}.0.0`,
  replaces: number === 1 ? null : `${number - 1}.0.0`,
  tenantId: "local",
  userId: "ann",
  state: "pending_link",
  hash: `h${number}`,
  definition: {
    description: "Made for a test.",
    inputSchema: { type: "object", additionalProperties: false },
    outputSchema: null,
    examples: [{}],
    timeoutMs: 10_000,
  },
  program: { kind: "code", language: "js", source: "export default () => 1;\n" },
  tests: [{ input: {}, output: 1 }],
  results: [{ status: "passed", ms: 5, message: null }],
  testedAt: T0,
  findings: [{ severity: "warning", path: "/config/source", line: 1, message: "look" }],
  proposedRisk: "safe",
  terms: null,
  reason: null,
  createdAt: T0,
  decidedAt: null,
  decidedBy: null,
  ...change,
});
const TERMS: DraftTerms = {
  risk: "safe",
  effects: "read_only",
  requiresApproval: false,
  workspace: "ro",
  hosts: ["a.example"],
};
const by = { terms: TERMS, at: T0 + 1, by: "owner" };

export function toolDraftsSuite(current: () => Store, another: () => Promise<Store>): void {
  describe("drafted tools", () => {
    let drafts: Store["toolDrafts"];
    beforeEach(() => {
      drafts = current().toolDrafts;
    });
    const states = async () =>
      (await drafts.versions("system/made")).map(({ version, state }) => `${version} ${state}`);

    test("a version is kept as it is, and found by its tenant alone", async () => {
      await drafts.create(row(1));
      expect(await drafts.get("local", "dft_1")).toEqual(row(1));
      expect(await drafts.get("other", "dft_1")).toBeNull();
      expect(await drafts.version("system/made", "1.0.0")).toEqual(row(1));
      expect(await drafts.version("system/made", "2.0.0")).toBeNull();
      await drafts.tested("dft_1", [{ status: "failed", ms: 1, message: "no" }], T0 + 5);
      expect(await drafts.get("local", "dft_1")).toMatchObject({
        results: [{ status: "failed" }],
        testedAt: T0 + 5,
      });
    });

    test("a number of a name is taken once, whoever tries and from where", async () => {
      const other = (await another()).toolDrafts;
      const tries = await Promise.allSettled(
        Array.from({ length: 8 }, (_, at) =>
          (at % 2 === 0 ? drafts : other).create(row(1, { id: `dft_${at}`, tenantId: `t${at}` })),
        ),
      );
      const kept = tries.filter(({ status }) => status === "fulfilled");
      expect(kept).toHaveLength(1);
      for (const one of tries)
        if (one.status === "rejected") expect(one.reason).toEqual(new AlreadyExists("tool"));
    });

    test("lists newest first, page by page, by state and name", async () => {
      for (const number of [1, 2, 3]) await drafts.create(row(number));
      await drafts.create(row(4, { name: "system/else", number: 1 }));
      await drafts.create(row(5, { tenantId: "other" }));
      await drafts.decide("dft_2", {
        from: ["pending_link"],
        state: "rejected",
        reason: "no",
        at: T0,
        by: "owner",
      });
      const ids = async (...of: Parameters<typeof drafts.list>) =>
        (await drafts.list(...of)).map(({ id }) => id);
      expect(await ids({ tenantId: "local" }, { limit: 2 })).toEqual(["dft_4", "dft_3"]);
      expect(await ids({ tenantId: "local" }, { limit: 9, before: "dft_3" })).toEqual([
        "dft_2",
        "dft_1",
      ]);
      expect(await ids({ tenantId: "local", state: "rejected" }, { limit: 9 })).toEqual(["dft_2"]);
      expect(await ids({ tenantId: "local", name: "system/else" }, { limit: 9 })).toEqual([
        "dft_4",
      ]);
    });

    test("linking one retires the one before; a decision is taken from its state alone", async () => {
      for (const number of [1, 2]) await drafts.create(row(number));
      const [one, two] = [row(1), row(2)];
      expect(await drafts.link(one, { from: ["pending_link"], ...by })).toMatchObject({
        state: "linked",
        terms: TERMS,
        decidedBy: "owner",
      });
      expect(await drafts.link(one, { from: ["pending_link"], ...by })).toBeNull();
      await drafts.link(two, { from: ["pending_link"], ...by });
      expect(await states()).toEqual(["2.0.0 linked", "1.0.0 retired"]);
      await drafts.link(one, { from: ["retired"], ...by });
      expect(await states()).toEqual(["2.0.0 retired", "1.0.0 linked"]);
      expect((await drafts.linked()).map(({ id }) => id)).toEqual(["dft_1"]);
      const unlink = { from: ["linked"], state: "retired", reason: null, at: T0, by: "x" } as const;
      expect(await drafts.decide("dft_2", unlink)).toBeNull();
      expect(await drafts.decide("dft_1", unlink)).toMatchObject({ state: "retired" });
      expect(await drafts.linked()).toEqual([]);
    });

    test("of any that link at the same moment, one version is linked in the end", async () => {
      const other = (await another()).toolDrafts;
      for (let number = 1; number <= 6; number++) await drafts.create(row(number));
      const linked = await Promise.all(
        Array.from({ length: 6 }, (_, at) =>
          (at % 2 === 0 ? drafts : other).link(row(at + 1), { from: ["pending_link"], ...by }),
        ),
      );
      expect(linked.every((one) => one !== null)).toBe(true);
      const all = await states();
      expect(all.filter((state) => state.endsWith(" linked"))).toHaveLength(1);
      expect(all.filter((state) => state.endsWith(" retired"))).toHaveLength(5);
    });
  });
}
