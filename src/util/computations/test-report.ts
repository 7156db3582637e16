// Reads the reports of test runners, each in its own format for programs.
import { json, list, object, str } from "./report-json.ts";

export interface TestFailure {
  name: string;
  file?: string;
  message: string;
}

export interface TestReport {
  passed: number;
  failed: number;
  skipped: number;
  failures: TestFailure[];
}

export type RunnerName = "vitest" | "jest" | "node" | "pytest" | "go" | "cargo";

/** The same with as many failures as are reported. */
export function testReport(
  runner: RunnerName,
  text: string,
  most: number,
): (TestReport & { readonly cut: boolean }) | null {
  const report = readTests(runner, text);
  return (
    report && {
      ...report,
      failures: report.failures.slice(0, most),
      cut: report.failures.length > most,
    }
  );
}

/** Null when the text is not what the runner writes: it failed before it ran tests. */
export function readTests(runner: RunnerName, report: string): TestReport | null {
  return READERS[runner](report);
}

const READERS: Record<RunnerName, (text: string) => TestReport | null> = {
  vitest: readJest,
  jest: readJest,
  node: readJunit,
  pytest: readJunit,
  go: readGo,
  cargo: readCargo,
};

const MAX_MESSAGE = 2_000;

/** Jest's JSON, which vitest writes too. */
function readJest(text: string): TestReport | null {
  const report = object(json(text));
  const files = list(report["testResults"]);
  if (!files) return null;
  const out: TestReport = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const file of files) {
    const name = str(file["name"]);
    const tests = list(file["assertionResults"]) ?? [];
    for (const test of tests) {
      const status = str(test["status"]);
      if (status === "passed") out.passed++;
      else if (status === "failed") {
        out.failed++;
        const messages = Array.isArray(test["failureMessages"])
          ? test["failureMessages"].map(str)
          : [];
        out.failures.push({
          name: str(test["fullName"]) || str(test["title"]),
          file: name,
          message: cut(messages.join("\n")),
        });
      } else out.skipped++;
    }
    // A file that could not be loaded has no tests, only a message.
    if (tests.length === 0 && file["status"] === "failed") {
      out.failed++;
      out.failures.push({ name, file: name, message: cut(str(file["message"])) });
    }
  }
  return out;
}

/** JUnit's XML, of node --test and pytest. Only attributes and text of `testcase` count. */
function readJunit(text: string): TestReport | null {
  if (!/<testsuites?\b/.test(text)) return null;
  const out: TestReport = { passed: 0, failed: 0, skipped: 0, failures: [] };
  for (const [, attributes = "", , body = ""] of text.matchAll(
    /<testcase\b((?:[^>"']|"[^"]*"|'[^']*')*?)(\/>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    const fault = /<(failure|error)\b((?:[^>"']|"[^"]*"|'[^']*')*?)(?:\/>|>([\s\S]*?)<\/\1>)/.exec(
      body,
    );
    if (fault) {
      out.failed++;
      const file = attribute(attributes, "file");
      const place = attribute(attributes, "classname");
      const title = attribute(attributes, "name") ?? "";
      const message = `${attribute(fault[2] ?? "", "message") ?? ""}\n${unescaped(fault[3] ?? "")}`;
      out.failures.push({
        name: place && place !== "test" ? `${place} ${title}` : title,
        ...(file ? { file } : {}),
        message: cut(message.trim()),
      });
    } else if (/<skipped\b/.test(body)) out.skipped++;
    // Node reports a file in which nothing matched as a test of the file's name.
    else if (!/\.[cm]?[jt]s$/.test(attribute(attributes, "name") ?? "")) out.passed++;
  }
  return out;
}

const attribute = (text: string, name: string): string | undefined => {
  const found = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)')`).exec(` ${text}`);
  return found ? unescaped(found[1] ?? found[2] ?? "") : undefined;
};

const ENTITIES: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};

function unescaped(text: string): string {
  return text
    .replaceAll(/<!\[CDATA\[([\s\S]*?)\]\]>/g, "$1")
    .replaceAll(
      /&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g,
      (whole: string, decimal?: string, hex?: string, name?: string) => {
        const code = decimal ? Number(decimal) : hex ? parseInt(hex, 16) : null;
        if (code !== null) return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
        return ENTITIES[name ?? ""] ?? whole;
      },
    );
}

/** `go test -json`: one event per line. */
function readGo(text: string): TestReport | null {
  const events = text
    .split("\n")
    .flatMap((line) => (line.startsWith("{") ? [object(json(line))] : []));
  if (events.length === 0) return null;
  const out: TestReport = { passed: 0, failed: 0, skipped: 0, failures: [] };
  const output = new Map<string, string>();
  for (const event of events) {
    const test = str(event["Test"]);
    const key = `${str(event["Package"])} ${test}`.trim();
    const action = str(event["Action"]);
    if (action === "output" || action === "build-output")
      output.set(key, (output.get(key) ?? "") + str(event["Output"]));
    if (test === "") {
      // A package that did not build has no tests.
      if (
        action === "fail" &&
        !events.some((one) => one["Package"] === event["Package"] && one["Test"] !== undefined)
      ) {
        out.failed++;
        out.failures.push({ name: key, message: cut(output.get(key) ?? "") });
      }
      continue;
    }
    if (action === "pass") out.passed++;
    if (action === "skip") out.skipped++;
    if (action === "fail") {
      out.failed++;
      out.failures.push({ name: key, message: cut(output.get(key) ?? "") });
    }
  }
  return out;
}

/** Cargo has no stable format but its text. */
function readCargo(text: string): TestReport | null {
  const out: TestReport = { passed: 0, failed: 0, skipped: 0, failures: [] };
  const results = [
    ...text.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm),
  ];
  if (results.length === 0) return null;
  for (const [, passed, failed, ignored] of results) {
    out.passed += Number(passed);
    out.failed += Number(failed);
    out.skipped += Number(ignored);
  }
  for (const [, name = ""] of text.matchAll(/^test (.+?) \.\.\. FAILED$/gm)) {
    const at = text.indexOf(`---- ${name} stdout ----`);
    const end = at < 0 ? -1 : text.indexOf("\n\n", at);
    const message = at < 0 ? "" : text.slice(at, end < 0 ? at + MAX_MESSAGE : end);
    out.failures.push({ name, message: cut(message) });
  }
  return out;
}

const cut = (text: string): string =>
  text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
