// Runs one attack as one user: the control, every case, the control again. What throws or takes too long was not held.
import type { Attack, Case, ServerUser } from "./attack.ts";
import { cannotRunAs, openTarget, type OpenTarget } from "./target.ts";

export const FEWEST_CASES = 10;

export interface Failure {
  readonly name: string;
  readonly sentence: string;
}

export interface Result {
  readonly item: string;
  readonly title: string;
  readonly user: ServerUser;
  readonly tried: number;
  readonly held: number;
  /** Both times. */
  readonly control: boolean;
  readonly seconds: number;
  /** Cases that were not held, controls that did not work, and what is wrong with the attack itself. */
  readonly failures: readonly Failure[];
  /** Why it was not run; then nothing was tried. */
  readonly skipped: string | null;
  /** Cases and controls there are. */
  readonly cases: number;
}

export interface RunOptions {
  readonly user: ServerUser;
  readonly seed: number;
  readonly caseLimitMs: number;
  /** On the clock of `performance.now()`: nothing is begun after it. */
  readonly until: number;
}

export async function runAttack(attack: Attack, options: RunOptions): Promise<Result> {
  const { user, seed } = options;
  const began = performance.now();
  const failures: Failure[] = [];
  const result = { tried: 0, held: 0, control: false, skipped: null as string | null };
  const finish = (): Result => ({
    item: attack.item,
    title: attack.title,
    user,
    ...result,
    seconds: (performance.now() - began) / 1000,
    failures,
    cases: attack.cases.length + 2,
  });

  result.skipped = cannotRunAs(user) ?? attack.skip?.(user) ?? null;
  if (result.skipped !== null) return finish();
  const names = new Set(attack.cases.map(({ name }) => name));
  if (names.size < FEWEST_CASES)
    failures.push({
      name: "number of cases",
      sentence: `${names.size} different cases, at least ${FEWEST_CASES} are needed`,
    });

  let target: OpenTarget;
  try {
    target = await openTarget({ ...attack, user, seed });
  } catch (error) {
    failures.push({ name: "start of the server", sentence: sentenceOf(error) });
    return finish();
  }
  try {
    const [before = null] = await tried([attack.control], target, options);
    if (before !== null)
      failures.push({ name: `control before: ${attack.control.name}`, sentence: before });
    for (const cases of besideEachOther(attack.cases)) {
      const sentences = await tried(cases, target, options);
      for (const [at, { name }] of cases.entries()) {
        result.tried++;
        const sentence = sentences[at] ?? null;
        if (sentence === null) result.held++;
        else failures.push({ name, sentence });
      }
    }
    const [after = null] = await tried([attack.control], target, options);
    if (after !== null)
      failures.push({ name: `control after: ${attack.control.name}`, sentence: after });
    result.control = before === null && after === null;
  } finally {
    await target.close();
  }
  return finish();
}

/** Cases that wait, and stand next to each other, in one group; every other one in a group of its own. */
function besideEachOther(cases: readonly Case[]): Case[][] {
  const groups: Case[][] = [];
  for (const one of cases) {
    const last = groups.at(-1);
    if (one.waits && last?.[0]?.waits) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

/**
 * What each says. The server is there for each group: one that ended it, or left it without an answer, gets a new one
 * behind it, and none of the group was held.
 */
async function tried(
  cases: readonly Case[],
  target: OpenTarget,
  options: RunOptions,
): Promise<(string | null)[]> {
  const left = Math.min(options.caseLimitMs, options.until - performance.now());
  if (left <= 0) return cases.map(() => "not tried: the time for all attacks is over");
  const late = Promise.withResolvers<string>();
  let timedOut = false;
  const timer = setTimeout(() => late.resolve(`no end after ${Math.round(left / 1000)} s`), left);
  const outcomes = await Promise.all(
    cases.map((one) => {
      const ended = one.run(target).catch((error: unknown) => `threw: ${sentenceOf(error)}`);
      const isLate = late.promise.then((sentence) => {
        timedOut = true;
        return sentence;
      });
      return Promise.race([ended, isLate]);
    }),
  );
  clearTimeout(timer);
  const harm = await target.harm();
  if (harm === null && !timedOut) return outcomes;
  try {
    await target.restart("SIGKILL");
  } catch (error) {
    const failed = `the server could not be started again: ${sentenceOf(error)}`;
    return outcomes.map((outcome) => `${harm ?? outcome}; ${failed}`);
  }
  return outcomes.map((outcome) =>
    harm === null ? outcome : `${harm}${outcome === null ? "" : `; ${outcome}`}`,
  );
}

function sentenceOf(error: unknown): string {
  const cause = error instanceof Error && error.cause ? `, ${sentenceOf(error.cause)}` : "";
  const text = (error instanceof Error ? error.message : String(error)) + cause;
  return text.replaceAll(/\s+/g, " ").slice(0, 600);
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Held cases and controls that worked pass; everything told as a failure fails. */
export function totalsOf(results: readonly Result[]): Totals {
  const sum = (count: (result: Result) => number): number =>
    results.reduce((all, result) => all + count(result), 0);
  return {
    passed: sum((result) => result.held + (result.control ? 2 : 0)),
    failed: sum((result) => result.failures.length),
    skipped: sum((result) => (result.skipped === null ? 0 : result.cases)),
  };
}

/** Nothing tried is no success. */
export const allHeld = (results: readonly Result[]): boolean => {
  const { passed, failed } = totalsOf(results);
  return passed > 0 && failed === 0;
};

const HEADINGS = ["item", "user", "tried", "held", "control", "seconds", "title"];

export function tableOf(results: readonly Result[]): string {
  const rows = results.map((result) => {
    const { item, user, tried, held, control, seconds, title, skipped } = result;
    return skipped === null
      ? [item, user, `${tried}`, `${held}`, control ? "works" : "FAILED", seconds.toFixed(1), title]
      : [item, user, "-", "-", "-", "-", `${title}: not run, ${skipped}`];
  });
  const widths = HEADINGS.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  return [HEADINGS, ...rows]
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
