// Reads the reports of linters, each in its own format for programs.
import { json, list, object, str } from "./report-json.ts";

export interface LintIssue {
  path: string;
  line: number;
  column: number;
  severity: "error" | "warning";
  rule: string;
  message: string;
}

export type LinterName = "eslint" | "biome" | "tsc" | "ruff" | "mypy" | "shellcheck";

export interface LintReport {
  /** The first ones. */
  readonly issues: readonly LintIssue[];
  readonly errors: number;
  readonly warnings: number;
}

/** The same, counted, with as many issues as are reported. */
export function lintReport(
  linter: LinterName,
  stdout: string,
  root: string,
  most: number,
): LintReport | null {
  const issues = readLint(linter, stdout, root);
  if (issues === null) return null;
  const errors = issues.filter(({ severity }) => severity === "error").length;
  return { issues: issues.slice(0, most), errors, warnings: issues.length - errors };
}

/** Null when the text is not what the linter writes: it failed. `root` is cut off the front of paths. */
export function readLint(linter: LinterName, stdout: string, root: string): LintIssue[] | null {
  const issues = READERS[linter](stdout);
  return issues?.map((issue) => ({ ...issue, path: within(issue.path, root) })) ?? null;
}

function within(path: string, root: string): string {
  const plain = path.startsWith("./") ? path.slice(2) : path;
  return plain.startsWith(`${root}/`) ? plain.slice(root.length + 1) : plain;
}

const READERS: Record<LinterName, (text: string) => LintIssue[] | null> = {
  eslint: (text) =>
    list(json(text))?.flatMap((file) =>
      (list(file["messages"]) ?? []).map((message) => ({
        path: str(file["filePath"]),
        ...place(message["line"], message["column"]),
        severity: message["severity"] === 2 ? "error" : "warning",
        rule: str(message["ruleId"]) || "syntax",
        message: str(message["message"]),
      })),
    ) ?? null,
  biome: readBiome,
  tsc: (text) => lines(text, /^(.+?)\((\d+),(\d+)\): (error|warning) (TS\d+): (.*)$/),
  ruff: (text) =>
    list(json(text))?.map((one) => ({
      path: str(one["filename"]),
      ...place(object(one["location"])["row"], object(one["location"])["column"]),
      severity:
        /^(E9|F63|F7|F82)/.test(str(one["code"])) || one["code"] === null ? "error" : "warning",
      rule: str(one["code"]) || "syntax",
      message: str(one["message"]),
    })) ?? null,
  mypy: (text) =>
    lines(text, /^(.+?):(\d+):(?:(\d+):)? (error|warning|note): (.*)$/, (m) => {
      const named = /^(.*?)\s+\[([a-z-]+)\]$/.exec(m[5] ?? "");
      return m[4] === "note"
        ? null
        : [m[1], m[2], m[3] ?? "1", m[4], named?.[2] ?? "mypy", named?.[1] ?? m[5]];
    }),
  shellcheck: (text) =>
    list(object(json(text))["comments"])?.map((one) => ({
      path: str(one["file"]),
      ...place(one["line"], one["column"]),
      severity: one["level"] === "error" ? "error" : "warning",
      rule: `SC${Number(one["code"])}`,
      message: str(one["message"]),
    })) ?? null,
};

/** `--reporter=github`: a stable line per issue, where its JSON is not. */
function readBiome(text: string): LintIssue[] {
  return text.split("\n").flatMap((line) => {
    const found = /^::(error|warning|notice) (.*?)::(.*)$/.exec(line);
    if (!found) return [];
    const fields = new Map(
      (found[2] ?? "").split(",").map((field) => field.split("=", 2) as [string, string]),
    );
    return [
      {
        path: fields.get("file") ?? "",
        ...place(Number(fields.get("line")), Number(fields.get("col"))),
        severity: found[1] === "error" ? "error" : "warning",
        rule: fields.get("title") ?? "biome",
        message: found[3] ?? "",
      } as const,
    ];
  });
}

type Parts = readonly (string | undefined)[];

function lines(
  text: string,
  form: RegExp,
  parts: (match: RegExpExecArray) => Parts | null = (m) => m.slice(1),
): LintIssue[] {
  return text.split("\n").flatMap((line) => {
    const match = form.exec(line);
    const found = match && parts(match);
    if (!found) return [];
    const [path = "", row, column, severity, rule = "", message = ""] = found;
    return [
      {
        path,
        ...place(Number(row), Number(column)),
        severity: severity === "error" ? "error" : "warning",
        rule,
        message,
      } as const,
    ];
  });
}

function place(line: unknown, column: unknown): { line: number; column: number } {
  const whole = (value: unknown): number =>
    typeof value === "number" && Number.isInteger(value) && value > 0 ? value : 1;
  return { line: whole(line), column: whole(column) };
}
