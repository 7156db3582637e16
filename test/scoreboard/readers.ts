// How the figures of a check are read from what a command wrote.
import type { Check } from "./check.ts";
import type { Figure } from "./figure.ts";
import { closingCount, fromTests, NotRun, type TestsOf } from "./results.ts";
import type { SourceName } from "./sources.ts";
import { meets, type Row } from "../../bench/row.ts";
import type { CorpusResult } from "../corpora/corpus.ts";
import type { TamperReport } from "../ledger/tamper.ts";

type Reading = Pick<Check, "sources" | "tests" | "notRun" | "read">;

export const missing = (why: string): Reading => ({
  sources: [],
  notRun: why,
  read: () => {
    throw new NotRun(why);
  },
});

interface KillFigures {
  readonly rounds: number;
  readonly acknowledged: number;
  readonly missing: number;
  readonly stuck: number;
  readonly different: number;
  readonly broken: number;
  readonly events: number;
}

const KILLS = 200;

/** Kills under load: by the calls that were acknowledged, or by the chains that were read afterwards. */
export const kills = (of: "calls" | "chains"): Reading => ({
  sources: ["faults"],
  read(results) {
    const { figures, results: all } = results.faults();
    const sum = figures["kill"] as KillFigures | undefined;
    if (!sum) throw new NotRun("the killing did not come to its end");
    const lacks =
      sum.rounds < KILLS ? { lacks: `${sum.rounds} of ${KILLS} kills; all with --long` } : {};
    const controls = all.filter(({ name }) => name.startsWith("control:"));
    const control = of === "chains" ? controls.slice(-1) : controls.slice(0, 1);
    const shared = {
      control: {
        tried: control.length,
        held: control.filter(({ faults }) => faults.length === 0).length,
      },
      ...lacks,
    };
    const rounds = all.filter(({ name }) => name.startsWith("round "));
    const faults = rounds.flatMap((round) => round.faults.slice(0, 3));
    if (of === "chains")
      return {
        ...shared,
        tried: sum.rounds,
        held: sum.rounds - sum.broken,
        unit: "chains",
        figures: `${sum.events} events`,
        faults: sum.broken > 0 ? faults : [],
      };
    const lost = sum.missing + sum.stuck + sum.different;
    return {
      ...shared,
      tried: sum.acknowledged,
      held: sum.acknowledged - lost,
      unit: "acknowledged calls",
      figures: `${sum.rounds} kills, missing ${sum.missing}, stuck ${sum.stuck}, different ${sum.different}`,
      faults,
    };
  },
});

export const fromFaults = (
  name: RegExp,
  lacks: string,
  control = /served again|starts once|caught up/,
): Reading => ({
  sources: ["faults"],
  read(results) {
    const { results: all, skipped } = results.faults();
    const mine = all.filter((one) => name.test(one.name));
    const why = skipped.find((one) => name.test(one.name))?.why;
    if (mine.length === 0) throw new NotRun(why ?? "not among the results of faults");
    const controls = mine.filter((one) => control.test(one.name));
    const good = (list: typeof mine): number =>
      list.filter(({ faults }) => faults.length === 0).length;
    return {
      tried: mine.length,
      held: good(mine),
      unit: "findings",
      figures: mine
        .map(
          (one) =>
            /\d+ calls are refused, the slowest after \d+ ms|served again after \d+ ms|delivered \d+/.exec(
              one.name,
            )?.[0],
        )
        .filter((text) => text !== undefined)
        .join(", "),
      control: { tried: controls.length, held: good(controls) },
      faults: mine.flatMap(({ faults }) => faults.slice(0, 3)),
      lacks,
    };
  },
});

const CHANGES = 10_000;

export const fromTamper = (): Reading => ({
  sources: ["tamper"],
  read(results): Figure {
    const report = results.json<TamperReport>("tamper");
    const sum = (key: "tried" | "found"): number =>
      report.kinds.reduce((all, kind) => all + kind[key], 0);
    return {
      tried: sum("tried"),
      held: sum("found"),
      unit: "changes",
      figures: `${report.kinds.length} kinds`,
      control: { tried: report.untouched, held: report.untouched - report.falseAlarms.length },
      faults: [...report.missed, ...report.falseAlarms].slice(0, 5),
      ...(sum("tried") < CHANGES ? { lacks: `${sum("tried")} of ${CHANGES} changes` } : {}),
    };
  },
});

interface GivenCorpora {
  readonly results: readonly (CorpusResult & {
    readonly kind: string;
    readonly entries: number;
    readonly broken?: true;
  })[];
}

export const fromCorpora = (kind: string): Reading => ({
  sources: ["corpora"],
  read(results): Figure {
    const mine = results.json<GivenCorpora>("corpora").results.filter((one) => one.kind === kind);
    const [one] = mine;
    if (!one) throw new NotRun(`the ${kind} corpus is absent`);
    if (one.broken) throw new Error(`the ${kind} corpus did not come to its end`);
    return {
      tried: one.tried,
      held: one.contained,
      unit: "calls",
      figures: `${one.entries} entries`,
      control: {
        tried: one.controls.tried,
        held: one.controls.tried - one.controls.failed.length,
      },
      faults: [...one.escaped, ...one.controls.failed].slice(0, 5),
    };
  },
});

/** Tests by name; those whose name is a control's are counted as that as well. */
export const fromSuites = (
  source: "test" | "services",
  tests: readonly TestsOf[],
  control: RegExp,
  lacks?: string,
): Reading => ({
  sources: [source],
  tests,
  read(results) {
    const all = results.tests(source, tests);
    return fromTests(
      all,
      all.filter(({ name, status }) => control.test(name) && status !== "skipped"),
      lacks,
    );
  },
});

/** A test whose title says how many it tries at once. */
export const countInTitle = (
  source: "test",
  one: TestsOf,
  controls: readonly TestsOf[],
): Reading => ({
  sources: [source],
  tests: [one, ...controls],
  read(results) {
    const figure = fromTests(results.tests(source, [one]), results.tests(source, controls));
    const tried = Number(/([\d,]+) parallel/.exec(one.name.source)?.[1]?.replaceAll(",", ""));
    return { ...figure, tried, held: figure.held > 0 ? tried : 0, unit: "parallel calls" };
  },
});

export const fromBench = (
  wanted: readonly RegExp[],
  lacks: string,
  control = wanted[0] as RegExp,
): Reading => ({
  sources: ["bench"],
  read(results): Figure {
    const rows = results.json<Row[]>("bench");
    const mine = rows.filter(({ name }) => wanted.some((one) => one.test(name)));
    if (mine.length === 0) throw new NotRun("not measured here: see the log of bench");
    const controls = rows.filter(({ name, value }) => control.test(name) && Number.isFinite(value));
    const missed = mine.filter((row) => meets(row) === false);
    return {
      // A figure without a target is told and not judged.
      tried: mine.filter((row) => meets(row) !== null).length,
      held: mine.filter((row) => meets(row) === true).length,
      unit: "figures with a target",
      figures: mine
        .map(({ name, value, unit }) => `${name}: ${Number(value.toPrecision(3))} ${unit}`)
        .join("; "),
      control: { tried: controls.length, held: controls.length },
      faults: missed.map(
        ({ name, value, unit, target }) => `${name}: ${value} ${unit}, target ${target}`,
      ),
      lacks,
    };
  },
});

const CONFORMANCE = ["conformance-mcp", "conformance-gateway", "conformance-client"] as const;

export const fromConformance = (): Reading => ({
  sources: CONFORMANCE,
  read(results): Figure {
    const counts = CONFORMANCE.map((name) => ({ name, ...closingCount(results.log(name)) }));
    const sum = (key: "passed" | "failed" | "skipped"): number =>
      counts.reduce((all, one) => all + one[key], 0);
    return {
      tried: sum("passed") + sum("failed"),
      held: sum("passed"),
      unit: "judged scenarios",
      figures: counts
        .map(
          ({ name, passed, failed, skipped }) => `${name.slice(12)} ${passed}/${failed}/${skipped}`,
        )
        .join(", "),
      // The referee's own tools must have run: that is judged as a scenario.
      control: { tried: 3, held: counts.filter(({ passed }) => passed > 0).length },
      faults: counts
        .filter(({ failed }) => failed > 0)
        .map(({ name, failed }) => `${name}: ${failed} failed`),
      ...(sum("skipped") > 0
        ? { note: `${sum("skipped")} unscored or left out, listed in the logs` }
        : {}),
    };
  },
});

const POLICIES = [
  "conformance-rego",
  "conformance-relations",
  "agreement-rego",
] as const satisfies readonly SourceName[];

export const fromRego = (): Reading => ({
  sources: POLICIES,
  read(results): Figure {
    const rego = closingCount(results.log("conformance-rego"));
    const relations = closingCount(results.log("conformance-relations"));
    const server = /^spicedb: (\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(
      results.log("conformance-relations"),
    );
    const agreed = /^(\d+) compared, (\d+) disagreed$/m.exec(results.log("agreement-rego"));
    if (!agreed) throw new Error("agreement-rego did not come to its end");
    const parts = [
      { name: "Rego cases", passed: rego.passed, failed: rego.failed },
      { name: "relation cases, embedded", passed: relations.passed, failed: relations.failed },
      ...(server
        ? [
            {
              name: "relation cases, SpiceDB",
              passed: Number(server[1]),
              failed: Number(server[2]),
            },
          ]
        : []),
      {
        name: "generated policies against OPA",
        passed: Number(agreed[1]) - Number(agreed[2]),
        failed: Number(agreed[2]),
      },
    ];
    const sum = (key: "passed" | "failed"): number =>
      parts.reduce((all, part) => all + part[key], 0);
    return {
      tried: sum("passed") + sum("failed"),
      held: sum("passed"),
      unit: "cases",
      figures: parts.map(({ name, passed, failed }) => `${name} ${passed}/${failed}`).join(", "),
      control: { tried: parts.length, held: parts.filter(({ passed }) => passed > 0).length },
      faults: parts
        .filter(({ failed }) => failed > 0)
        .map(({ name, failed }) => `${name}: ${failed} disagree`),
      note: `${rego.skipped + relations.skipped} unsupported, listed in the logs`,
    };
  },
});

export const fromProbe = (number: number): Reading => ({
  sources: ["probes"],
  read(results): Figure {
    const all = results.json<Record<string, Figure | { notRun: string }>>("probes");
    const mine = all[String(number)];
    if (!mine) throw new NotRun("not among the results of probes");
    if ("notRun" in mine) throw new NotRun(mine.notRun);
    return mine;
  },
});

interface AttackFile {
  readonly results: readonly {
    readonly item: string;
    readonly user: string;
    readonly tried: number;
    readonly held: number;
    readonly control: boolean;
    readonly skipped: string | null;
  }[];
}

/** Beside the checks: what was held off, in all. */
export function fromAttacks(file: AttackFile): string {
  const ran = file.results.filter(({ skipped }) => skipped === null);
  const sum = (key: "tried" | "held"): number => ran.reduce((all, one) => all + one[key], 0);
  const controls = ran.filter(({ control }) => control).length;
  return `attacks: ${sum("held")} of ${sum("tried")} held over ${ran.length} runs, controls ${controls} of ${ran.length}`;
}
