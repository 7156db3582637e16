import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { knownNames, shippedFiles, type Files } from "../../../../test/fixtures/governance.ts";
import { describeFault } from "../../documents/rules-document.ts";
import { readGovernance } from "./files.ts";

const faultsOf = (files: Files): string[] =>
  readGovernance(files, knownNames("shell/exec")).faults.map(describeFault);
const changed = (from: string, to: string): string[] => faultsOf(shippedFiles({ [from]: to }));
/** Puts entries under `tools:`. */
const withTools = (lines: string): string[] => changed("tools: {}", `tools:\n${lines}`);

test("R080: the shipped files are valid", () => {
  expect(faultsOf(shippedFiles())).toEqual([]);
});

describe("C5: every fault says file, line and column, and what was meant", () => {
  test.each([
    // unknown keys and words
    [
      "classes:\n",
      "klasses:\n",
      /^tools\.yaml:\d+:1 unknown key "klasses"; did you mean classes\?$/,
    ],
    [
      "read_only: { NORMAL: run",
      "read_only: { NROMAL: run",
      /^tools\.yaml:9:16 classes\.read_only: unknown key "NROMAL"; did you mean NORMAL\?$/,
    ],
    [
      "read_only: { NORMAL: run",
      "read_only: { NORMAL: rnu",
      /classes\.read_only\.NORMAL: expected one of run, approval, no, got "rnu"; did you mean run\?/,
    ],
    ["read_only: { NORMAL: run", "read_only: { NORMAL: yes", /got "yes"/],
    ["  read_only: {", "  read_onyl: {", /unknown key "read_onyl"; did you mean read_only\?/],
    [
      "dangerous: { NORMAL: approval }\n",
      "dangerous: 5\n",
      /classes\.network\.dangerous: expected "key: value" lines, got 5/,
    ],
    [
      "paths:\n  allowed:",
      "paths:\n  alowed:",
      /paths: unknown key "alowed"; did you mean allowed\?/,
    ],
    [
      "sizes: { read_mb: 10",
      "sizes: { read_mb: big",
      /sizes\.read_mb: expected a number from 0\.001 to 1024, got "big"/,
    ],
    ["sizes: { read_mb: 10", "sizes: { read_mb: -1", /got -1/],
    [
      "list_entries: 10000",
      "list_entries: 1.5",
      /expected a whole number from 1 to 1000000, got 1\.5/,
    ],
    // types
    ["- $WORKSPACE\n", "- 7\n", /paths\.allowed\[0\]: expected text, got 7/],
    ["- $WORKSPACE\n", '- ""\n', /expected text, got ""/],
    ["- $WORKSPACE\n", "- { a: b }\n", /expected text, got "key: value" lines/],
    ["ports: [80, 443]", "ports: 80", /hosts\.ports: expected a list, got 80/],
    [
      "ports: [80, 443]",
      "ports: [80, 70000]",
      /hosts\.ports\[1\]: expected a whole number from 1 to 65535, got 70000/,
    ],
    [
      "approvals: { expires_in_seconds: 600",
      "approvals: { expires_in_seconds: 604801",
      /expected a whole number from 1 to 604800/,
    ],
    // patterns
    [
      "- $WORKSPACE\n",
      "- relative/path\n",
      /says not where it starts; begin it with one of \/, ~,/,
    ],
    ["- $WORKSPACE\n", "- $WORKSPCE/x\n", /says not where it starts/],
    ["- $WORKSPACE\n", "- /a/../b\n", /write it without \. and \.\./],
    ["- $WORKSPACE\n", "- /a/{b,c}\n", /write one line per alternative/],
    ["- $WORKSPACE\n", `- "/a\\u0001"\n`, /no NUL or control characters/],
    ["- $WORKSPACE\n", `- /${"a".repeat(600)}\n`, /longer than 500 characters/],
    ["plans:\n  free:", "plans:\nunused:\n  free:", /plans: the key free is missing/],
    [
      "calls_per_minute: 60",
      "calls_per_minute:",
      /plans\.free\.calls_per_minute: expected a number, got nothing/,
    ],
    // commands
    [
      "DEGRADED: [ls, cat, df]",
      "DEGRADED: [ls, node]",
      /commands\.run\.DEGRADED\[1\]: node can start or fetch anything and is listed at tools\.yaml:\d+; it cannot run without asking/,
    ],
    ["DEGRADED: [ls, cat, df]", "DEGRADED: [sudo]", /sudo can start or fetch anything/],
    ["DEGRADED: [ls, cat, df]", "DEGRADED: [l*]", /name each program/],
    [
      "DEGRADED: [ls, cat, df]",
      "DEGRADED: [/bin/ls]",
      /expected the name of a program, without a folder, got "\/bin\/ls"/,
    ],
    ["path: [/usr/local/bin", "path: [bin", /expected an absolute folder, got "bin"/],
    ["date: [-s, --set]", "date: [set]", /expected an option such as -o or --output, got "set"/],
    ["free: [LANG", "free: [LA NG", /expected the name of a variable/],
    [
      "max_operands: { uniq: 1 }",
      "max_operands: { uniq: -1 }",
      /max_operands\.uniq: expected a whole number from 0/,
    ],
    // hosts
    [
      'allowed: ["*.wikipedia.org"',
      'allowed: ["w*.org"',
      /expected a host such as example\.org or \*\.example\.org, got "w\*\.org"/,
    ],
    ['allowed: ["*.wikipedia.org"', 'allowed: [https://x.org]\n  policy2: ["y"', /expected a host/],
    ["read_only: public", "read_only: everything", /expected one of none, list, ask_new, public/],
    ["schemes: [https, http]", "schemes: [gopher]", /expected one of https, http, got "gopher"/],
    // limits and modes
    [
      "categories: {}",
      "categories: { wbe: { calls_per_minute: 3 } }",
      /categories: there is no category "wbe"; did you mean web\?/,
    ],
    [
      "categories: {}",
      "categories: { web: { calls_per_minute: many } }",
      /expected a whole number up to 1000000 or none, got "many"/,
    ],
    [
      "ALERT: { description: elevated risk or load, calls_per_minute: 15 }",
      "ALERT: { description: x }",
      /^modes\.yaml:\d+:3 modes\.ALERT: the key calls_per_minute is missing$/,
    ],
    [
      "clear_below: 70",
      "clear_below: 90",
      /90 lies above the threshold 85; it would never be quiet/,
    ],
    [
      "clear_below: 70, for_seconds: 30 }",
      "clear_below: 70, for_seconds: 30, throttle: { calls_per_minute: 1, for_seconds: 1 } }",
      /only denials and dangerous_calls are counted per caller/,
    ],
    ["  cpu: {", "  gpu: {", /sensors: unknown key "gpu"; did you mean cpu\?/],
    ["firing: [dangerous_calls] }", "firing: [dangerus_calls] }", /did you mean dangerous_calls\?/],
    ["firing: [dangerous_calls] }", "firing: [] }", /names no sensor/],
    [
      "firing: [dangerous_calls] }",
      "firing: [cpu], quiet_seconds: 3 }",
      /firing or quiet_seconds, not both/,
    ],
    [
      "quiet_seconds: 600, needs_human: true",
      "needs_human: true",
      /needs firing \(names of sensors\) or quiet_seconds/,
    ],
    [
      "quiet_seconds: 600, needs_human: true",
      "quiet_seconds: 600, needs_human: maybe",
      /expected true or false, got "maybe"/,
    ],
    [
      "{ from: RECOVERY, to: NORMAL",
      "{ from: ALERT, to: NORMAL",
      /the way from ALERT to NORMAL is written twice/,
    ],
    // plans
    [
      "      tool_calls: 100\n",
      "",
      /^plans\.yaml:\d+:5 plans\.free\.budgets: the key tool_calls is missing$/,
    ],
    ["      tool_calls: 100\n", "      tool_calls: lots\n", /or none, got "lots"/],
    [
      "      tool_calls: 100\n",
      "      toolcalls: 100\n",
      /unknown key "toolcalls"; did you mean tool_calls\?/,
    ],
    ["low_warning: 0.8", "low_warning: 80", /expected a number from 0 to 1, got 80/],
    // YAML itself
    ["tools: {}", "tools: {", /^tools\.yaml:\d+:\d+ not valid YAML/],
    ["tools: {}", "tools: {}\ntools: {}", /not valid YAML: Map keys must be unique/],
    ["tools: {}", "tools: *nothing", /not valid YAML|an alias/],
  ])("%j → %j", (from, to, message) => {
    const faults = changed(from, to);
    expect(faults.join("\n")).toMatch(new RegExp(message.source, "m"));
    for (const fault of faults)
      expect(fault).toMatch(/^(tools|modes|plans)\.yaml:[1-9]\d*:[1-9]\d* /);
  });

  test("aliases are to be written out", () => {
    expect(changed("schemes: [https, http]", "schemes: &s [https]").length).toBe(0);
    expect(changed("ports: [80, 443]", "ports: &p [80]\n  ports2: *p").join()).toContain(
      "unknown key",
    );
    expect(
      changed(
        "read_only: public\n    network: ask_new",
        "read_only: &p public\n    network: *p",
      ).join(),
    ).toContain("an alias (write it out)");
  });

  test("all faults are told at once", () => {
    const files = shippedFiles({
      "classes:\n": "klasses:\n",
      "low_warning: 0.8": "low_warning: 8",
    });
    expect(faultsOf(files)).toEqual([
      expect.stringContaining('unknown key "klasses"'),
      expect.stringContaining("the key classes is missing"),
      expect.stringContaining("low_warning: expected"),
    ]);
  });

  test("a file that is missing, unknown, empty, too large or of another kind", () => {
    const { "plans.yaml": _plans, ...two } = shippedFiles();
    expect(faultsOf(two)).toEqual(["plans.yaml:1:1 the file is missing"]);
    expect(faultsOf({ ...shippedFiles(), "safety.yaml": "" })).toEqual([
      expect.stringMatching(/^safety\.yaml:1:1 governance has no file of this name/),
    ]);
    expect(faultsOf({ ...shippedFiles(), "plans.yaml": "" })).toContain(
      "plans.yaml:1:1 the key plans is missing",
    );
    expect(faultsOf({ ...shippedFiles(), "plans.yaml": "[]" }).join()).toContain(
      'plans.yaml:1:1 expected "key: value" lines, got a list',
    );
    expect(faultsOf({ ...shippedFiles(), "plans.yaml": "#".repeat(1_048_577) }).join()).toContain(
      "larger than",
    );
  });

  test("whatever is done to the text, faults are told and nothing is thrown", () => {
    const files = shippedFiles();
    const text = files["tools.yaml"] ?? "";
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(40),
        fc.constantFrom(
          "",
          "x",
          "{",
          "]",
          ":",
          "- ",
          "\n",
          "null",
          "&a ",
          "*a",
          "\t",
          "99999999999",
        ),
        (at, cut, put) => {
          const faults = faultsOf({
            ...files,
            "tools.yaml": text.slice(0, at) + put + text.slice(at + cut),
          });
          for (const fault of faults) expect(fault).toMatch(/^tools\.yaml:[1-9]\d*:[1-9]\d* \S/);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("R077 R099: entries of tools", () => {
  test("all keys of an entry are read", () => {
    const entry = `  shell/exec:
    modes: { NORMAL: run }
    rate_limit_per_hour: 200
    rate_limit_scope: tenant
    approvals: { expires_in_seconds: 60, hold_seconds: 10 }
    allowed_paths: [$WORKSPACE/a]
    forbidden_paths: ["**/*.pem"]
    unattended_paths: [$SCRATCH]
    max_file_size_mb: 1
    commands: { run: { NORMAL: [ls] }, deny: [cat] }
    hosts: { policy: list, allowed: [x.org], blocked: [y.org], ports: [8080] }
    touches: [{ argument: /file, kind: path, access: read, absent_means: "." }, { argument: /to, kind: path }]`;
    expect(withTools(entry)).toEqual([]);
    const unread = entry.replace("max_file_size_mb", "max_file_size");
    expect(withTools(unread)).toEqual([
      expect.stringContaining(
        'tools.shell/exec: unknown key "max_file_size"; did you mean max_file_size_mb?',
      ),
    ]);
  });

  test("C3: low, medium and high are other words for safe, moderate and dangerous; a fourth is none", () => {
    for (const risk of ["low", "medium", "high", "safe"])
      expect(withTools(`  file/read: { risk: ${risk} }`)).toEqual([]);
    expect(withTools("  file/read: { risk: extreme }").join()).toContain(
      "expected one of safe, moderate, dangerous, low, medium, high",
    );
  });

  test("a tool that does not exist is a fault with a suggestion; of an upstream server only the server is known", () => {
    expect(withTools("  file/raed: {}")).toEqual([
      'tools.yaml:45:3 tools: there is no tool "file/raed"; did you mean file/read?',
    ]);
    expect(withTools("  web/crawl: {}").join()).toContain('there is no tool "web/crawl"');
    expect(withTools("  upstream/anything: { rate_limit_per_hour: none }")).toEqual([]);
    expect(withTools("  upstraem/anything: {}").join()).toContain("there is no tool");
  });

  test.each([
    ["rate_limit_scope: tenant", "needs rate_limit_per_hour beside it"],
    [
      "rate_limit_per_hour: 5\n    rate_limit_scope: house",
      "expected one of caller, tenant, global",
    ],
    ["touches: [{ argument: file, kind: path }]", "expected a JSON pointer such as /path"],
    ["touches: [{ argument: /a, kind: url, access: read }]", "only a path has it"],
    ["touches: [{ argument: /a, kind: folder }]", "expected one of path, command, argv, url, text"],
    ["touches: [{ kind: path }]", "the key argument is missing"],
    ["approvals: { people: 2 }", 'unknown key "people"'],
    ["approvals: { expires_in_seconds: 30 }", "a door would hold for 45 s what expires after 30 s"],
    ["commands: { run: { NORMAL: [bash] } }", "cannot run without asking"],
  ])("%s", (lines, message) => {
    expect(withTools(`  file/read:\n    ${lines}`).join()).toContain(message);
  });
});

test("the faults and the example in docs/governance.md are real", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/governance.md"), "utf8");
  const shown = /```\n((?:\w+\.yaml:.*\n)+)```/.exec(page)?.[1]?.trim().split("\n");
  const faulty = shippedFiles({
    "read_only: { NORMAL": "read_only: { NROMAL",
    "tools: {}": "tools:\n  file/raed: {}",
    "      tool_calls: 100\n": "",
  });
  expect(faultsOf(faulty)).toEqual(shown);
  const example = /```yaml\n(tools:[^]*?)```/.exec(page)?.[1] ?? "";
  expect(changed("tools: {}", example.replace("files/fetch", "upstream/fetch"))).toEqual([]);
});

describe("what the lines do not show one by one", () => {
  test("C29: LOCKDOWN cannot be loosened", () => {
    expect(changed("LOCKDOWN: approval", "LOCKDOWN: run")).toEqual([
      "tools.yaml:9:1 classes.read_only: in LOCKDOWN it may be approval at most, not run",
    ]);
    expect(
      changed("dangerous: { NORMAL: approval }", "dangerous: { LOCKDOWN: approval }").join(),
    ).toContain("classes.network: in LOCKDOWN it may be no at most");
  });

  test("C39: an approval is not held longer than it lives", () => {
    expect(changed("hold_seconds: 45", "hold_seconds: 200")).toEqual([]);
    expect(
      changed(
        "expires_in_seconds: 600, approvals: 1, hold_seconds: 45",
        "expires_in_seconds: 10, approvals: 1, hold_seconds: 45",
      ).join(),
    ).toContain("hold for 45 s what expires after 10 s");
  });

  test("a listing must be able to look at what it may list", () => {
    expect(changed("visited_entries: 200000", "visited_entries: 5").join()).toContain(
      "less than list_entries",
    );
  });

  test.each([
    [
      "    - $DATA_DIR # but for workspace and scratch folders kept in it\n",
      "paths.forbidden must hold $DATA_DIR",
    ],
    ["    - $CONFIG\n", "paths.forbidden must hold $CONFIG"],
    ["    - $GOVERNANCE\n", "paths.forbidden_for_writing must hold $GOVERNANCE"],
  ])("what protects the server itself stays: %j", (line, message) => {
    expect(changed(line, "").join()).toContain(message);
  });
});
