// The runner itself: an attack that gets through is found, and one that "holds" by refusing everything is as well.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Attack, Case, ServerUser } from "./attack.ts";
import { allHeld, runAttack, tableOf, totalsOf } from "./runner.ts";
import { removeCopies } from "./target.ts";

afterAll(removeCopies);

const USER: ServerUser = "ordinary";
const options = () => ({
  user: USER,
  seed: 1,
  caseLimitMs: 20_000,
  until: performance.now() + 120_000,
});

/** Legal: the answer is what was said. */
const echo: Case = {
  name: "an echo comes back",
  async run(target) {
    const { body } = await target.call("system/echo", { text: "hello" });
    return body.result?.text === "hello" ? null : `the answer was ${JSON.stringify(body)}`;
  },
};

/** A file beside the workspace, by as many spellings as there are cases. */
const spellings = (count: number): Case[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `out of the workspace over ${at + 1} folders`,
    async run(target) {
      const path = `${"../".repeat(at + 1)}etc/hostname`;
      const { body } = await target.call("file/read", { path });
      return body.success ? `${path} was read` : null;
    },
  }));

/** What a broken guard would do: what was asked for is done. */
const getsThrough: Case = {
  name: "a forbidden text is echoed",
  async run(target) {
    const { body } = await target.call("system/echo", { text: "forbidden" });
    return body.result?.text === "forbidden" ? "the server said what it must not say" : null;
  },
};

const attack = (cases: readonly Case[], control: Case = echo): Attack => ({
  item: "A0",
  title: "the runner's own",
  cases,
  control,
});

test("what is held passes, as another user, with the control before and after", async () => {
  let account = "";
  const who: Case = {
    name: "who runs it",
    async run(target) {
      account = (await target.asUser(["id", "-u"])).stdout.trim();
      return null;
    },
  };
  const result = await runAttack(attack([who, ...spellings(10)]), options());
  expect(result.failures).toEqual([]);
  expect(result).toMatchObject({ tried: 11, held: 11, control: true, skipped: null });
  expect(account).not.toBe("0");
  expect(totalsOf([result])).toEqual({ passed: 13, failed: 0, skipped: 0 });
  expect(allHeld([result])).toBe(true);
}, 120_000);

test("an attack that gets through is named and fails the run; so are one that throws and one that ends the server", async () => {
  const throws: Case = { name: "a case that breaks", run: () => Promise.reject(new Error("oh")) };
  const kills: Case = {
    name: "the server is ended",
    async run(target) {
      process.kill(target.pid, "SIGKILL");
      await expect.poll(() => target.api("GET", "/me").catch(() => null)).toBe(null);
      return null;
    },
  };
  const result = await runAttack(attack([getsThrough, throws, kills, ...spellings(8)]), options());
  expect(result).toMatchObject({ tried: 11, held: 8, control: true });
  expect(result.failures).toEqual([
    { name: "a forbidden text is echoed", sentence: "the server said what it must not say" },
    { name: "a case that breaks", sentence: "threw: oh" },
    { name: "the server is ended", sentence: expect.stringMatching(/^the server ended/) as string },
  ]);
  expect(tableOf([result])).toMatch(/A0 +ordinary +11 +8 +works/);
  expect(allHeld([result])).toBe(false);
}, 120_000);

test("a case without an end is not held, and the server behind it is a new one", async () => {
  const endless: Case = { name: "no end", run: () => new Promise(() => undefined) };
  const result = await runAttack(attack([endless, ...spellings(9)]), {
    ...options(),
    caseLimitMs: 5000,
  });
  expect(result).toMatchObject({ tried: 10, held: 9, control: true });
  expect(result.failures).toEqual([{ name: "no end", sentence: "no end after 5 s" }]);
}, 120_000);

test("a control that does not work fails the run: refusing everything is no defence", async () => {
  const refused: Case = {
    name: "a tool that is not there",
    async run(target) {
      const { body } = await target.call("system/nothing", {});
      return body.success ? null : "the legal call was refused";
    },
  };
  const result = await runAttack(attack(spellings(10), refused), options());
  expect(result).toMatchObject({ tried: 10, held: 10, control: false });
  expect(result.failures.map(({ name }) => name)).toEqual([
    "control before: a tool that is not there",
    "control after: a tool that is not there",
  ]);
  expect(allHeld([result])).toBe(false);
}, 120_000);

test("fewer than ten different cases fail; what cannot run is told and is no success", async () => {
  const few = await runAttack(attack(spellings(9)), options());
  expect(few.failures).toEqual([
    { name: "number of cases", sentence: "9 different cases, at least 10 are needed" },
  ]);
  const same = spellings(1)[0] as Case;
  expect(
    (await runAttack(attack(Array(12).fill(same) as Case[]), options())).failures,
  ).toHaveLength(1);
  const skipped = await runAttack({ ...attack(spellings(10)), skip: () => "no kernel" }, options());
  expect(totalsOf([skipped])).toEqual({ passed: 0, failed: 0, skipped: 12 });
  expect(tableOf([skipped])).toContain("not run, no kernel");
  expect(allHeld([skipped])).toBe(false);
}, 120_000);

test("folders may lie in each other, are filled before the start and outlast a restart", async () => {
  const prepared: Attack = {
    ...attack(spellings(9)),
    workspace: "work",
    dataDir: "data/below",
    settings: { "log.level": "error" },
    async prepare(target) {
      await target.asUser(["sh", "-c", "echo prepared > note.txt"]);
    },
  };
  const reads: Case = {
    name: "the file is there after a restart",
    async run(target) {
      const before = target.pid;
      await target.restart();
      if (before === target.pid) return "the process is the same";
      const { body } = await target.call("file/read", { path: "note.txt" });
      return JSON.stringify(body).includes("prepared") ? null : JSON.stringify(body);
    },
  };
  const result = await runAttack({ ...prepared, cases: [reads, ...prepared.cases] }, options());
  expect(result.failures).toEqual([]);
}, 120_000);

test("every file with an attack is in the list", () => {
  const list = readFileSync(join(import.meta.dirname, "list.ts"), "utf8");
  const files = readdirSync(import.meta.dirname).filter((name) => /^[ab]\d+-.*\.ts$/.test(name));
  expect(files.filter((name) => !list.includes(`import("./${name}")`))).toEqual([]);
});
