// One version of a drafted tool for people who decide about it.
import type { Cli } from "../cli.ts";
import { fields } from "../output/render.ts";

export interface DraftItem {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly author: string;
  readonly hash: string;
  readonly description: string;
  readonly tests: { readonly passed: number; readonly failed: number; readonly notRun: number };
  readonly findings: number;
  readonly proposedRisk: string | null;
  readonly terms: Readonly<Record<string, unknown>> | null;
}

export interface DraftReview extends DraftItem {
  readonly text: string;
  readonly comparedWith: string | null;
  readonly diff: readonly string[];
  readonly testResults: readonly {
    readonly test: Readonly<Record<string, unknown>>;
    readonly status: string;
    readonly message: string | null;
  }[];
  readonly findingList: readonly {
    readonly severity: string;
    readonly path: string;
    readonly line: number | null;
    readonly message: string;
  }[];
  readonly versions: readonly DraftItem[];
}

export function showReview(cli: Cli, review: DraftReview): void {
  if (cli.flags.json) return cli.term.printJson(review);
  const { term } = cli;
  const { name, version, state, author, hash, proposedRisk, terms, comparedWith } = review;
  term.print(`${term.out.bold(`${name} ${version}`)}  ${state}`);
  for (const line of fields({ author, hash, proposedRisk, ...terms })) term.print(`  ${line}`);
  term.print(term.out.bold("program"));
  term.print(review.text.trimEnd());
  if (review.diff.length > 0) {
    term.print(term.out.bold(`difference to ${comparedWith}`));
    term.print(review.diff.join("\n"));
  }
  term.print(term.out.bold("tests"));
  for (const { test, status, message } of review.testResults)
    term.print(`  ${status}  ${JSON.stringify(test)}${message === null ? "" : `\n    ${message}`}`);
  tellFindings(cli, review);
}

function tellFindings(cli: Cli, { findingList }: DraftReview): void {
  if (findingList.length === 0) return cli.term.note("no findings");
  for (const { severity, path, line, message } of findingList)
    cli.term.note(`${severity}  ${path}${line === null ? "" : ` line ${line}`} ${message}`);
}

export function tellLinked(
  cli: Cli,
  linked: DraftItem & { readonly capsules: readonly string[] },
): void {
  if (cli.flags.json) return cli.term.printJson(linked);
  const { name, version, terms, capsules } = linked;
  const where = capsules.length === 0 ? "" : `, now in capsules ${capsules.join(", ")}`;
  cli.term.note(
    `${cli.term.err.green("✓")} ${name} ${version} is linked as ${String(terms?.["risk"])}${where}`,
  );
}

export function tellDrafted(
  cli: Cli,
  { name, version, tests }: Pick<DraftItem, "name" | "version" | "tests">,
): void {
  const all = tests.passed + tests.failed + tests.notRun;
  cli.term.note(
    `${name} ${version} is drafted, ${tests.passed} of ${all} tests passed; it waits for: ostiary tools link ${name}`,
  );
}
