// The one table of codes against its page, in both directions, and against every place that names a code.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { AppError, CODES, faultOf, type Code } from "./errors.ts";
import { METRICS } from "../governance/limits/budget.ts";
import { RATE_KINDS } from "../governance/limits/rate.ts";

const ROOT = join(import.meta.dirname, "../..");
const CODE_NAMES = Object.keys(CODES) as Code[];
const reasonsOf = (code: string): readonly string[] => CODES[code as Code]?.reasons ?? [];

describe("the table", () => {
  test("R286: has a code for each failure class of the sources", () => {
    const classes = {
      ToolNotFoundError: ["NOT_FOUND", 404],
      ToolPermissionDenied: ["FORBIDDEN", 403],
      ToolExecutionError: ["EXECUTION_FAILED", 500],
      ToolTimeoutError: ["TIMEOUT", 504],
      UnsupportedProviderError: ["UNSUPPORTED_PROVIDER", 501],
    } as const;
    for (const [code, http] of Object.values(classes))
      expect([code, CODES[code].http]).toEqual([code, http]);
  });

  test("R285: has the required codes with their statuses and reasons", () => {
    // Written from the requirement, not from the table.
    const required: Record<string, [number, string]> = {
      BAD_REQUEST: [400, "invalid_input invalid_arguments unknown_parameter"],
      FORBIDDEN: [
        403,
        "not_allowlisted policy_denied level_too_low scope_missing permission_missing mode_forbids path_forbidden path_not_allowed command_forbidden size_exceeded egress_blocked approval_declined approval_expired approval_not_presented",
      ],
      NOT_FOUND: [404, "unknown"],
      TOO_MANY_REQUESTS: [
        429,
        "rate_user rate_category rate_tool rate_mode rate_key rate_ip concurrency",
      ],
      INTERNAL_SERVER_ERROR: [500, ""],
      EXECUTION_FAILED: [500, "upstream_unavailable upstream_protocol"],
      OUTCOME_UNKNOWN: [500, ""],
      UNAUTHORIZED: [401, "no_credentials bad_credentials key_inactive"],
      BUDGET_EXHAUSTED: [402, "budget_tool_calls"],
      CONFLICT: [409, "not_running already_exists idempotency_in_flight several_matches stale"],
      PAYLOAD_TOO_LARGE: [413, "body_too_large"],
      UNPROCESSABLE: [422, "idempotency_mismatch"],
      CANCELLED: [499, "user shutdown"],
      UNSUPPORTED_PROVIDER: [501, "external mcp"],
      UNAVAILABLE: [
        503,
        "engine_unavailable sandbox_unavailable circuit_open provider_not_configured resource_exhausted queue_full shutting_down",
      ],
      TIMEOUT: [504, "timeout"],
    };
    for (const [code, [http, reasons]] of Object.entries(required)) {
      expect([code, CODES[code as Code]?.http]).toEqual([code, http]);
      const missing = reasons
        .split(" ")
        .filter((reason) => reason !== "" && !reasonsOf(code).includes(reason));
      expect([code, missing]).toEqual([code, []]);
    }
  });

  test("own JSON-RPC numbers lie outside the reserved range, and reasons are slugs", () => {
    const standard = [-32700, -32603, -32602, -32601, -32600];
    for (const code of CODE_NAMES) {
      const { rpc, reasons } = CODES[code];
      expect([code, standard.includes(rpc) || rpc > -32000]).toEqual([code, true]);
      expect(reasons.length).toBeGreaterThan(0);
      expect(new Set(reasons).size).toBe(reasons.length);
      for (const reason of reasons) expect(reason).toMatch(/^[a-z]+(_[a-z]+)*$/);
    }
  });
});

describe("an error", () => {
  test("carries its words and its cause", () => {
    const cause = new Error("inner");
    const error = new AppError("CONFLICT", "stale", "changed meanwhile", {
      remedy: "read it again",
      cause,
    });
    expect(error.fault).toEqual({
      code: "CONFLICT",
      reason: "stale",
      message: "changed meanwhile",
      remedy: "read it again",
    });
    expect(error.cause).toBe(cause);
    expect(faultOf(error)).toBe(error.fault);
  });

  test("T27: of anything else only the title is told", () => {
    for (const cause of [new Error("secret"), "secret", null]) {
      expect(faultOf(cause)).toMatchObject({ code: "INTERNAL_SERVER_ERROR", reason: "internal" });
      expect(JSON.stringify(faultOf(cause))).not.toContain("secret");
    }
  });
});

describe("docs/errors.md", () => {
  const page = readFileSync(join(ROOT, "docs/errors.md"), "utf8");
  const sections = page.split(/^## /m).slice(1);
  const documented = new Map(
    sections.map((text) => [text.slice(0, text.indexOf("\n")), text] as const),
  );
  const CLI_ONLY = "Words of the command line alone";

  test("has one section per code, in the order of the table, with its anchor", () => {
    expect([...documented.keys()]).toEqual([...CODE_NAMES, CLI_ONLY]);
    const anchors = [...page.matchAll(/<a id="(\w+)"><\/a>\n\n## (\w+)/g)];
    expect(anchors.map(([, id]) => id)).toEqual(CODE_NAMES);
    for (const [, id, heading] of anchors) expect(id).toBe(heading);
  });

  test.each(CODE_NAMES)("%s: the same numbers and the same reasons", (code) => {
    const { http, trpc, rpc, exit, retryable } = CODES[code];
    const text = documented.get(code) ?? "";
    const line = `HTTP ${http} · tRPC ${trpc} · JSON-RPC ${rpc} · exit ${exit} · repeat: ${retryable ? "yes" : "no"}`;
    expect(text.split("\n")).toContain(line);
    expect(rows(text)).toEqual(CODES[code].reasons);
  });

  test("knows the words of the command line", () => {
    const used = new Set(["usage"]);
    for (const file of sources("src/cli")) {
      for (const [, reason] of read(file).matchAll(/\bfailed\(\s*"(\w+)"/g)) used.add(reason ?? "");
    }
    expect(rows(documented.get(CLI_ONLY) ?? "").sort()).toEqual([...used].sort());
  });

  /** First cells of the table; every row has three cells, none of them empty. */
  function rows(text: string): string[] {
    const lines = text.split("\n").filter((line) => line.startsWith("| `"));
    return lines.map((line) => {
      const cells = line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      expect([line, cells.length, cells.every((cell) => cell !== "")]).toEqual([line, 3, true]);
      return cells[0]?.replaceAll("`", "") ?? "";
    });
  }
});

describe("the sources", () => {
  /** Where the code is no literal, and what makes it one of the table. */
  const GIVEN_ON = {
    "src/reach/databases/children.ts": "the words of the process that was asked, as they are",
    "src/core/engine/catalogue.ts": "the words of a stage's verdict, as they are",
    "src/core/engine/discover.ts": "the words of a stage's verdict, as they are",
    "src/server/api/permissions.ts": "the words of a stage's verdict, as they are",
    "src/governance/rules/arguments/commands.ts":
      "a rule's finding; the stage gives it its code, FORBIDDEN",
    "src/core/run/powers/files/place.ts": "the words of the judge of paths, as they are",
    "src/core/run/powers/host/figures.ts": "the words of the judge of paths, as they are",
    "src/agents/records/agent-records.ts": "the fault of a write, with what was written before it",
    "src/core/run/powers/model.ts": "the words of the choice, with the capsule that made it",
    "src/agents/workflows/run/outputs.ts": "the failure of an earlier step, from its record",
    "src/core/run/powers/code/join.ts": "the failure of a program, as it was stored",
    "src/contract/tool.ts": "toolError itself: its callers are read instead",
  };
  const found = sources("src").flatMap((file) => pairsIn(file));

  test("use only codes and reasons of the table", () => {
    expect(found.length).toBeGreaterThan(60);
    const faults = found.filter(
      ({ code, reason }) => code !== null && reason !== null && !known(code, reason),
    );
    expect(faults).toEqual([]);
  });

  test("name the code where it is made", () => {
    const unnamed = found.filter(({ code }) => code === null).map(({ file }) => file);
    expect([...new Set(unnamed)].sort()).toEqual(Object.keys(GIVEN_ON).sort());
  });

  test("give a computed reason only where a tool, a provider, a metric, a window or a rule has its own", () => {
    const computed = found.filter(({ code, reason }) => code !== null && reason === null);
    const codes = new Set(computed.map(({ code }) => code));
    expect([...codes].sort()).toEqual([
      "BUDGET_EXHAUSTED",
      "CONFLICT",
      "EXECUTION_FAILED",
      "FORBIDDEN",
      "TOO_MANY_REQUESTS",
      "UNSUPPORTED_PROVIDER",
    ]);
    // Findings of the argument rules: every reason they name is in the table, those of asks and waivers aside.
    const findings = sources("src/governance/rules/arguments").flatMap((file) =>
      [...read(file).matchAll(/\breason: "(\w+)"/g)].map(([, reason]) => reason ?? ""),
    );
    const spoken = new Set([
      "command_asks",
      "host_asks",
      "path_asks",
      "listed_command",
      "unattended_path",
    ]);
    expect(
      findings.filter((reason) => !spoken.has(reason) && !reasonsOf("FORBIDDEN").includes(reason)),
    ).toEqual([]);
    expect([...METRICS.map((metric) => `budget_${metric}`), "turn_cost"]).toEqual(
      reasonsOf("BUDGET_EXHAUSTED"),
    );
    expect(reasonsOf("TOO_MANY_REQUESTS")).toEqual(
      expect.arrayContaining(RATE_KINDS.map((kind) => `rate_${kind}`)),
    );
  });

  /** A tool gives reasons of its own under EXECUTION_FAILED; everything else is in the table. */
  function known(code: string, reason: string): boolean {
    return reasonsOf(code).includes(reason) || code === "EXECUTION_FAILED";
  }
});

interface Pair {
  readonly file: string;
  readonly code: string | null;
  readonly reason: string | null;
}

/** Every code and reason that is named together: `new AppError`, `deny`, `toolError`, `{ code, reason }`. */
function pairsIn(file: string): Pair[] {
  const pairs: Pair[] = [];
  const add = (codes: (string | null)[], reasons: (string | null)[]): void => {
    for (const code of codes) for (const reason of reasons) pairs.push({ file, code, reason });
  };
  const visit = (node: ts.Node): void => {
    const called = ts.isNewExpression(node) || ts.isCallExpression(node) ? node.expression : null;
    const args =
      ts.isNewExpression(node) || ts.isCallExpression(node) ? (node.arguments ?? []) : [];
    const name = called && ts.isIdentifier(called) ? called.text : "";
    if ((ts.isNewExpression(node) && name === "AppError") || name === "deny")
      add(textsOf(args[0]), textsOf(args[1]));
    if (name === "toolError") {
      const code =
        args[2] && ts.isObjectLiteralExpression(args[2]) ? property(args[2], "code") : null;
      add(code ? textsOf(code) : ["EXECUTION_FAILED"], textsOf(args[0]));
    }
    if (ts.isObjectLiteralExpression(node)) {
      const [code, reason] = [property(node, "code"), property(node, "reason")];
      if (code && reason && ts.isStringLiteral(code)) add([code.text], reasonTexts(reason));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, read(file), ts.ScriptTarget.ESNext));
  return pairs;
}

/** The literals an expression can be; null stands for anything computed. */
function textsOf(node: ts.Expression | undefined): (string | null)[] {
  if (node && ts.isStringLiteral(node)) return [node.text];
  if (node && ts.isConditionalExpression(node))
    return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)];
  return [null];
}

/** Of an object's reason only literals count: a variable was given its value elsewhere. */
function reasonTexts(node: ts.Expression): string[] {
  return textsOf(node).filter((text) => text !== null);
}

function property(node: ts.ObjectLiteralExpression, name: string): ts.Expression | null {
  for (const one of node.properties) {
    if (ts.isPropertyAssignment(one) && ts.isIdentifier(one.name) && one.name.text === name)
      return one.initializer;
  }
  return null;
}

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(?!.*\.(test|suite)\.)(.*)\.ts$/.test(entry.name))
    .map((entry) => posix.relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
