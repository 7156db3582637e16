// Why a decision came out as it did: which rules contributed, where each path first failed.
import { valueText } from "../values/text.ts";
import type { Expr, Location, Module, Rule } from "../syntax/ast.ts";
import type { Tracer } from "./trace.ts";
import type { Value } from "../values/value.ts";

export interface RuleVisit {
  /** The path of the rule, such as data.ostiary.tools.allow. */
  readonly rule: string;
  readonly location: Location;
  readonly depth: number;
  /** The value it contributed; absent when its body did not hold. */
  readonly value?: Value;
  /** The first expression that did not hold. */
  readonly failedAt?: Location;
}

export interface Explanation {
  readonly visits: readonly RuleVisit[];
  readonly notes: readonly { readonly text: string; readonly location: Location }[];
}

// A policy that loops over a large document would otherwise fill memory with visits.
const MAX_VISITS = 10_000;

interface Open {
  readonly rule: Rule;
  readonly path: string;
  readonly index: number;
  failedAt: Location | undefined;
}

export class Recorder implements Tracer {
  readonly #visits: RuleVisit[] = [];
  readonly #notes: { text: string; location: Location }[] = [];
  readonly #open: Open[] = [];

  enterRule(rule: Rule, path: string): void {
    const index = this.#visits.length;
    if (index < MAX_VISITS) {
      this.#visits.push({ rule: path, location: rule.loc, depth: this.#open.length });
    }
    this.#open.push({ rule, path, index, failedAt: undefined });
  }

  exitRule(_rule: Rule, _path: string, value: Value | undefined): void {
    const open = this.#open.pop();
    const visit = open && this.#visits[open.index];
    if (!open || !visit) return;
    const { failedAt } = open;
    this.#visits[open.index] = {
      ...visit,
      ...(value !== undefined && { value }),
      ...(value === undefined && failedAt && { failedAt }),
    };
  }

  expression(expr: Expr, held: boolean): void {
    const open = this.#open.at(-1);
    if (open && !held) open.failedAt ??= expr.loc;
  }

  note(text: string, location: Location): void {
    if (this.#notes.length < MAX_VISITS) this.#notes.push({ text, location });
  }

  explanation(): Explanation {
    return { visits: this.#visits, notes: this.#notes };
  }
}

/** One line per visit, indented by depth. */
export function explanationText(explanation: Explanation): string {
  return explanation.visits
    .map(({ rule, location, depth, value, failedAt }) => {
      const indent = "  ".repeat(depth);
      const at = placeText(location);
      if (value !== undefined) return `${indent}${rule} (${at}) = ${valueText(value)}`;
      return `${indent}${rule} (${at}) undefined${failedAt ? `: ${placeText(failedAt)} does not hold` : ""}`;
    })
    .join("\n");
}

function placeText(at: Location): string {
  return `${at.file}:${String(at.line)}:${String(at.column)}`;
}

export interface FileCoverage {
  readonly covered: readonly number[];
  readonly notCovered: readonly number[];
}

export interface CoverageReport {
  readonly files: Readonly<Record<string, FileCoverage>>;
  /** Covered lines of all lines with rules or expressions, 0 to 100. */
  readonly percent: number;
}

export class Coverage implements Tracer {
  readonly #lines = new Map<string, Map<number, boolean>>();

  constructor(modules: readonly Module[]) {
    for (const module of modules) {
      const lines = new Map<number, boolean>();
      for (const rule of module.rules) addLines(rule, lines);
      this.#lines.set(module.file, lines);
    }
  }

  #hit({ file, line }: Location): void {
    const lines = this.#lines.get(file);
    if (lines?.has(line)) lines.set(line, true);
  }

  enterRule(): void {
    // Entering a rule covers nothing yet: its body may fail at once.
  }

  exitRule(rule: Rule, _path: string, value: Value | undefined): void {
    if (value !== undefined) this.#hit(rule.loc);
  }

  expression(expr: Expr, _held: boolean): void {
    this.#hit(expr.loc);
  }

  note(): void {
    // Notes do not cover lines.
  }

  report(): CoverageReport {
    const files: Record<string, FileCoverage> = {};
    let hit = 0;
    let all = 0;
    for (const [file, lines] of this.#lines) {
      const sorted = [...lines].sort(([a], [b]) => a - b);
      const covered = sorted.filter(([, done]) => done).map(([line]) => line);
      const notCovered = sorted.filter(([, done]) => !done).map(([line]) => line);
      files[file] = { covered, notCovered };
      hit += covered.length;
      all += sorted.length;
    }
    return { files, percent: all === 0 ? 100 : (hit / all) * 100 };
  }
}

function addLines(rule: Rule, lines: Map<number, boolean>): void {
  lines.set(rule.loc.line, false);
  for (const expr of rule.body) lines.set(expr.loc.line, false);
  if (rule.otherwise) addLines(rule.otherwise, lines);
}
