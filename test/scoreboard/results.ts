// Results that commands wrote: a folder with `<source>.json` and `<source>.log`, whoever ran them.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReportFile } from "../faults/report.ts";
import type { Figure } from "./figure.ts";

export interface TestResult {
  /** Relative to the project. */
  readonly file: string;
  readonly name: string;
  readonly status: "passed" | "failed" | "skipped";
}

/** Which tests prove a check: every one of a file whose full name matches. */
export interface TestsOf {
  readonly file: string;
  readonly name: RegExp;
}

/** Why a check has no figure. */
export class NotRun extends Error {}

interface VitestFile {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export class Results {
  readonly #folder: string;
  constructor(folder: string) {
    this.#folder = folder;
  }

  has(source: string): boolean {
    return ["json", "log"].some((end) => existsSync(join(this.#folder, `${source}.${end}`)));
  }

  json<T>(source: string): T {
    const text = this.#read(source, "json");
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new Error(`${source}.json is no JSON: the command did not come to its end`);
    }
  }

  /** Without the colours of a terminal. */
  log(source: string): string {
    // eslint-disable-next-line no-control-regex -- colours of the test runner
    return this.#read(source, "log").replaceAll(/\u001b\[[0-9;]*m/g, "");
  }

  faults(): ReportFile {
    return this.json("faults");
  }

  tests(source: "test" | "services", wanted: readonly TestsOf[]): TestResult[] {
    // Where they ran apart, `npm test`, `npm run test:slow` and `npm run test:packed` are parts of one source.
    const parts = source === "test" ? ["slow", "packed"].filter((part) => this.has(part)) : [];
    const files = [source, ...parts].flatMap((report) => this.json<VitestFile>(report).testResults);
    // What ran against the sources and against the tarball counts once.
    const once = files.filter(
      (file, at) => files.findIndex(({ name }) => name === file.name) === at,
    );
    return once.flatMap(({ name: file, assertionResults }) =>
      assertionResults.flatMap(({ fullName, status }): TestResult[] => {
        const asked = wanted.some((one) => file.endsWith(one.file) && one.name.test(fullName));
        if (!asked) return [];
        const known = status === "passed" || status === "failed" ? status : "skipped";
        return [{ file, name: fullName, status: known }];
      }),
    );
  }

  #read(source: string, end: string): string {
    const file = join(this.#folder, `${source}.${end}`);
    if (!existsSync(file)) throw new NotRun(`no results of ${source}`);
    return readFileSync(file, "utf8");
  }
}

/**
 * Tests as a figure: each test is one thing tried. Those that need what is absent here are told, and count as not
 * tried.
 */
export function fromTests(
  tests: readonly TestResult[],
  controls: readonly TestResult[],
  lacks?: string,
): Figure {
  const ran = tests.filter(({ status }) => status !== "skipped");
  if (ran.length === 0)
    throw new NotRun(
      tests.length === 0
        ? "its tests are not among the results"
        : "its tests were skipped: what they need is absent here",
    );
  const skipped = tests.length - ran.length;
  const said = [lacks, ...(skipped > 0 ? [`${skipped} tests skipped`] : [])]
    .filter((text) => text !== undefined)
    .join("; ");
  return {
    tried: ran.length,
    held: ran.filter(({ status }) => status === "passed").length,
    unit: "tests",
    control: {
      tried: controls.length,
      held: controls.filter(({ status }) => status === "passed").length,
    },
    faults: [...ran, ...controls]
      .filter(({ status }) => status === "failed")
      .map(({ name }) => `failed: ${name}`),
    ...(said === "" ? {} : { lacks: said }),
  };
}

/** The last closing line `N passed, N failed, N skipped` of a log. */
export function closingCount(log: string): { passed: number; failed: number; skipped: number } {
  const last = [...log.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)].at(-1);
  if (!last) throw new Error("the log has no closing line: the command did not come to its end");
  return { passed: Number(last[1]), failed: Number(last[2]), skipped: Number(last[3]) };
}
