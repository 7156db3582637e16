// Which file may import which: the dependency direction as data, held against the import lines of every source.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

interface Rule {
  /** Folders (with a slash) and files that may be loaded. */
  readonly may?: readonly string[];
  /** Of these only types. */
  readonly types?: readonly string[];
  /** Files of the same place may not import each other. */
  readonly alone?: true;
}

const BASE = ["errors.ts", "call.ts", "util/"];
const PATH = ["identity/", "gate/", "run/", "record/"];
/** What the gate decides with, and the ports below it. */
const RULES = ["approval/", "governance/", "limits/", "mode/"];
const PORTS = [
  "egress/",
  "policy/",
  "relation/",
  "sandbox/",
  "search/search.ts",
  "sink/",
  "state/",
  "store/store.ts",
  "store/follow.ts",
];

/** main → cli → app → entry → engine → {identity, gate, run, record} → rules → ports → {call, errors, util}; longest prefix counts. */
const DIRECTION: Record<string, Rule> = {
  "main.ts": { may: ["cli/"] },
  "cli/": { may: [...BASE, "app.ts", "app/ledger.ts", "config.ts", "config/", "data-dir.ts", "entry/", "governance/folder.ts", "ledger/", "limits/period.ts", "policy/", "relation/text.ts", "relation/playground.ts", "sandbox/sandbox.ts", "sink/sink.ts", "version.ts"], types: ["approval/approval.ts", "relation/relation.ts"] },
  "app.ts": { may: [...BASE, "app/", "data-dir.ts", "entry/", "engine.ts", "engine/", ...PATH, ...RULES, ...PORTS, "telemetry/", "tools/index.ts", "tools/registry.ts", "external/", "upstream/", "version.ts"], types: ["ledger/ledger.ts", "agent/agents.ts", "config.ts", "tools/tool.ts"] },
  "app/": { may: [...BASE, "apart.ts", "telemetry/", "browser/", "codemode/programs.ts", "data-dir.ts", "database/database.ts", "documents/sandboxed.ts", "engine/replay.ts", "gate/index.ts", "identity/bootstrap.ts", "identity/standing.ts", "model/model.ts", "ledger/", ...RULES, ...PORTS, "run/powers/", "run/mcp.ts", "run/external.ts", "agent/", "external/", "upstream/", "version.ts", "webhook/", "workflow/"], types: ["config.ts", "entry/doors.ts", "identity/directory.ts", "identity/index.ts", "run/active.ts", "run/index.ts", "record/", "tools/registry.ts"] },
  "config.ts": { may: [...BASE, "config/"] },
  "config/": { may: [...BASE, "browser/browser.ts", "database/database.ts", "egress/secrets.ts", "model/model.ts", "policy/policy.ts", "relation/relation.ts", "search/search.ts", "sink/sink.ts", "state/state.ts", "store/store.ts", "telemetry/samplers.ts", "upstream/config.ts"] },
  "apart.ts": { may: BASE },
  "data-dir.ts": { may: BASE },
  "entry/": { may: [...BASE, "governance/governance.ts", "limits/budget.ts", "limits/owners.ts", "limits/period.ts", "mode/authority.ts", "relation/text.ts", "store/store.ts", "telemetry/names.ts", "telemetry/tracing.ts", "tools/registry.ts", "tools/render.ts", "tools/tool.ts"], types: ["agent/questions.ts", "approval/approval.ts", "engine.ts", "engine/replay.ts", "external/", "identity/", "ledger/", "limits/requests.ts", "mode/mode.ts", "policy/policy.ts", "record/", "relation/relation.ts", "state/state.ts", "upstream/", "webhook/webhook.ts"] },
  "engine.ts": { may: [...BASE, "engine/", "gate/index.ts", "run/deadline.ts"], types: ["approval/approval.ts", "record/", "run/", "store/store.ts", "telemetry/observer.ts", "tools/registry.ts", "tools/tool.ts"] },
  "engine/": { may: [...BASE, "gate/index.ts", "tools/aliases.ts"], types: ["governance/governance.ts", "engine.ts", "record/history.ts", "relation/relation.ts", "run/index.ts", "store/store.ts", "tools/registry.ts", "tools/tool.ts"] },
  "identity/": { may: [...BASE, "store/store.ts"], types: ["relation/relation.ts", "tools/tool.ts"] },
  "gate/": { may: [...BASE, "limits/exhausted.ts", "tools/tool.ts"], types: ["approval/approval.ts", "governance/governance.ts", "limits/", "mode/mode.ts", "policy/policy.ts", "relation/relation.ts"] },
  "run/": { may: [...BASE, "telemetry/names.ts", "upstream/upstream.ts"], types: ["external/call.ts", "upstream/upstream.ts", "browser/browser.ts", "documents/documents.ts", "database/database.ts", "egress/egress.ts", "governance/governance.ts", "model/model.ts", "sandbox/sandbox.ts", "search/search.ts", "store/store.ts", "telemetry/tracing.ts", "tools/powers.ts", "tools/powers/", "tools/tool.ts", "agent/", "codemode/programs.ts", "workflow/"] },
  "browser/": { may: BASE, types: ["egress/egress.ts", "sandbox/sandbox.ts", "tools/powers/browser.ts"] },
  "codemode/": { may: BASE },
  "database/": { may: [...BASE, "tools/powers/database.ts"] },
  "documents/": { may: BASE, types: ["sandbox/sandbox.ts"] },
  "model/": { may: BASE, types: ["tools/powers/model.ts"] },
  "search/": { may: BASE },
  "egress/": { may: BASE },
  "sandbox/": { may: BASE },
  "agent/": { may: [...BASE, "store/store.ts", "tools/tool.ts"], types: ["tools/powers/", "tools/registry.ts"] },
  "upstream/": { may: [...BASE, "telemetry/names.ts", "egress/operator.ts", "store/store.ts", "tools/tool.ts", "version.ts"], types: ["external/", "egress/egress.ts", "identity/", "relation/relation.ts", "run/index.ts", "sandbox/sandbox.ts", "store/follow.ts", "telemetry/tracing.ts", "tools/registry.ts"] },
  "external/": { may: [...BASE, "egress/operator.ts", "upstream/pseudo.ts", "upstream/upstream.ts"], types: ["egress/egress.ts", "store/store.ts", "tools/tool.ts", "upstream/servers.ts"] },
  "webhook/": { may: [...BASE, "egress/operator.ts", "record/news.ts", "store/store.ts"], types: ["egress/egress.ts"] },
  "workflow/": { may: [...BASE, "store/store.ts"], types: ["tools/powers.ts", "tools/tool.ts"] },
  "ledger/": { may: BASE, types: ["store/store.ts"] },
  "record/": { may: BASE, types: ["store/store.ts"] },
  "approval/": { may: BASE, types: ["gate/stage.ts", "governance/governance.ts", "relation/relation.ts", "state/state.ts", "store/store.ts", "tools/"] },
  "governance/": { may: [...BASE, "egress/hosts.ts", "egress/judge.ts", "limits/budget.ts", "tools/tool.ts"], types: ["egress/egress.ts", "store/store.ts", "store/follow.ts"] },
  "limits/": { may: BASE, types: ["gate/stage.ts", "governance/governance.ts", "mode/mode.ts", "state/state.ts", "store/store.ts", "tools/tool.ts"] },
  "mode/": { may: [...BASE, "governance/governance.ts"], types: [ "store/store.ts", "store/follow.ts"] },
  "store/": { may: BASE, types: ["governance/governance.ts", "state/state.ts", "tools/tool.ts"] },
  "sink/": { may: [...BASE, "ledger/lines.ts"], types: ["store/store.ts"] },
  "state/": { may: BASE },
  "telemetry/": { may: BASE },
  "relation/": { may: [...BASE, "store/store.ts"], types: ["governance/governance.ts"] },
  "policy/": { may: BASE, types: ["governance/governance.ts"] },
  "tools/powers.ts": { types: ["call.ts", "tools/powers/"] },
  "tools/powers/": { types: ["call.ts", "errors.ts", "util/computations.ts"] },
  "tools/index.ts": { may: ["tools/"], types: ["tools/tool.ts"] },
  "tools/aliases.ts": { may: BASE },
  "tools/registry.ts": { may: [...BASE, "tools/tool.ts"], types: ["store/store.ts"] },
  "tools/render.ts": { types: ["call.ts", "tools/tool.ts"] },
  "tools/tool.ts": { may: BASE, types: ["tools/powers.ts"] },
  "tools/": { may: ["tools/tool.ts", "tools/powers/database.ts", "util/"], types: ["call.ts", "errors.ts", "tools/powers.ts"], alone: true },
  "call.ts": { may: ["errors.ts"], types: ["tools/tool.ts"] },
  "errors.ts": {},
  "util/": { types: ["call.ts", "errors.ts"] },
  "version.ts": {},
}; // prettier-ignore

/** The same seen from the other end: what few may touch. */
const ONLY: Record<string, readonly string[]> = {
  "config.ts": ["app.ts", "app/", "cli/"],
  "tools/index.ts": ["app.ts"],
  "run/native.ts": ["app.ts"],
  "run/powers/": ["app.ts", "app/powers.ts", "app/work.ts", "run/powers/"],
  "gate/stage.ts": ["approval/", "gate/", "limits/"],
  "gate/": ["app.ts", "app/", "engine.ts", "engine/", "gate/"],
  "store/store.ts": ["app.ts", "app/", "approval/", "config/", "engine.ts", "engine/", "entry/", "external/", "governance/", "identity/", "ledger/", "limits/", "mode/", "record/", "relation/", "run/", "sink/", "store/", "tools/registry.ts", "agent/", "upstream/", "webhook/", "workflow/"],
  "engine/replay.ts": ["app/", "entry/doors.ts"],
  "app.ts": ["cli/"],
}; // prettier-ignore

/** Who may import a package, and why where it is more than one file. Types alone may be imported by the folder's others. */
const PACKAGES: Record<string, { readonly owners: readonly string[]; readonly why?: string }> = {
  "@authzed/authzed-node": { owners: ["relation/spicedb.ts", "relation/spicedb/"], why: "the client of SpiceDB and its messages" },
  "@marcbachmann/cel-js": { owners: ["relation/embedded/caveat.ts", "relation/embedded/parameter.ts"], why: "caveats and the types of their parameters" },
  "@anthropic-ai/sdk": { owners: ["model/anthropic.ts"] },
  "@clack/prompts": { owners: ["cli/terminal.ts"] },
  "@hono/node-server": { owners: ["entry/web.ts"] },
  "@modelcontextprotocol/client": { owners: ["upstream/"], why: "one side of every connection upstream, loaded with the first" },
  "@modelcontextprotocol/node": { owners: ["entry/mcp/sdk.ts"] },
  "@modelcontextprotocol/server": { owners: ["entry/mcp/sdk.ts", "entry/stdio.ts"], why: "both load it late: the one for HTTP, the other for stdin and stdout" },
  "@opentelemetry/otlp-exporter-base": { owners: ["telemetry/export.ts"] },
  "@ostiary/rego": { owners: ["policy/", "cli/policy/"], why: "the policy engine, and the policy commands" },
  "@platformatic/kafka": { owners: ["sink/kafka.ts"] },
  "@trpc/server": { owners: ["entry/trpc.ts"] },
  ajv: { owners: ["gate/validators.ts"] },
  cockatiel: { owners: ["upstream/resilience.ts"] },
  commander: { owners: ["cli/"], why: "each command declares its own options" },
  "csv-parse": { owners: ["documents/readers/csv.ts"] },
  defuddle: { owners: ["documents/readers/html.ts"] },
  ioredis: { owners: ["state/redis.ts"] },
  croner: { owners: ["workflow/cron.ts"] },
  hono: { owners: ["entry/"], why: "each part of the site is a router of its own" },
  "ipaddr.js": { owners: ["egress/hosts.ts"] },
  "jsonc-parser": { owners: ["cli/connect/", "upstream/intake/clients.ts"], why: "the configuration files of AI clients: edited, and read" },
  kysely: { owners: ["store/"], why: "one set of queries for both databases" },
  "libpg-query": { owners: ["database/guard-postgres.ts"] },
  linkedom: { owners: ["documents/readers/html.ts"] },
  "lru-cache": { owners: ["identity/index.ts", "run/cache.ts"], why: "callers by their keys; answers that may be given again" },
  mammoth: { owners: ["documents/readers/docx.ts"] },
  pg: { owners: ["database/postgres.ts", "store/postgres.ts", "store/postgres-message.ts"], why: "databases of others, and our own" },
  picocolors: { owners: ["cli/terminal.ts"] },
  pino: { owners: ["app.ts"] },
  "playwright-core": { owners: ["browser/chromium.ts"] },
  "quickjs-emscripten": { owners: ["codemode/code-thread.ts"] },
  re2js: { owners: ["relation/embedded/caveat.ts", "run/powers/files/search-matcher.ts", "util/linear-pattern.ts"], why: "CEL's matches; file/search; patterns of foreign schemas" },
  unbash: { owners: ["governance/arguments/shell.ts", "util/shell-words.ts"], why: "the judge of commands, and the words of one command; both read them alike" },
  "smol-toml": { owners: ["cli/connect/edit.ts"] },
  unpdf: { owners: ["documents/readers/pdf.ts"] },
  yaml: { owners: ["config/file.ts", "external/yaml.ts", "governance/yaml.ts", "relation/playground.ts"], why: "the configuration and governance files; OpenAPI documents; SpiceDB's validation files" },
  zod: { owners: ["browser/browser.ts", "config.ts", "config/", "database/database.ts", "egress/secrets.ts", "documents/sandboxed.ts", "entry/api/", "model/model.ts", "policy/policy.ts", "relation/relation.ts", "search/search.ts", "sink/sink.ts", "state/state.ts", "store/store.ts", "tools/", "upstream/config.ts", "util/web-shapes.ts", "util/run-shape.ts"], why: "schemas live beside their feature" },
}; // prettier-ignore

/** Modules of Node that reach out of the process: who owns the danger. */
const DANGERS: Record<string, readonly string[]> = {
  "node:child_process": ["cli/", "database/children.ts", "run/powers/host/", "sandbox/", "upstream/stdio-direct.ts"],
  "node:dgram": [],
  "node:dns": ["egress/check.ts"],
  "node:fs": ["apart.ts", "app/ledger.ts", "browser/", "cli/", "config.ts", "config/", "data-dir.ts", "database/sqlite.ts", "documents/", "entry/docs.ts", "governance/arguments/", "governance/folder.ts", "governance/territory.ts", "ledger/checkpoint-file.ts", "ledger/segments.ts", "mode/machine.ts", "record/process-figures.ts", "run/powers/", "sandbox/", "store/sqlite.ts", "upstream/stdio-folder.ts", "upstream/stdio-process.ts", "upstream/stdio-program-folders.ts", "upstream/stdio-program.ts", "util/kept-files.ts"],
  "node:http": ["egress/", "entry/"],
  "node:http2": [],
  "node:https": [],
  // Those below config/ and relation/, and client-address.ts, judge addresses; they connect to nothing.
  "node:net": ["cli/doctor/", "config/schema.ts", "egress/", "entry/client-address.ts", "entry/http.ts", "relation/embedded/caveat.ts", "relation/embedded/parameter.ts", "sandbox/bubblewrap/"],
  "node:sqlite": ["cli/doctor/", "data-dir.ts", "database/sqlite-child.ts", "database/sqlite-authorizer.ts", "database/sqlite-catalogue.ts", "store/"],
  "node:tls": ["egress/dial.ts"],
  "node:vm": [],
  "node:worker_threads": ["app/mask-thread.ts", "app/mask-threads.ts", "codemode/", "run/threads.ts", "run/powers/compute-thread.ts", "run/powers/files/search-thread.ts", "store/", "telemetry/"],
}; // prettier-ignore

/** Module-level values that change, each with its excuse. */
const MUTABLE: Record<string, string> = {
  "entry/mcp/param-headers.ts known":
    "weak, keyed by a frozen tool: remembers a pure answer about it",
};

/** Imports that cross from src into the rest of the repository. */
const OUTSIDE = ["version.ts ../package.json"];

interface Import {
  readonly from: string;
  /** A path below src, a package, or a module of Node; null when it is computed. */
  readonly to: string | null;
  readonly kind: "file" | "package" | "node" | "outside";
  readonly typeOnly: boolean;
}

const SRC = import.meta.dirname;
const isTest = (file: string): boolean => /\.(test|suite|suite\.child)\.ts$/.test(file);

const FILES = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => posix.relative(SRC, join(entry.parentPath, entry.name)))
  .sort();
const SOURCES = new Map(
  FILES.filter((file) => !isTest(file)).map((file) => [
    file,
    readFileSync(join(SRC, file), "utf8"),
  ]),
);
const PARSED = new Map(
  [...SOURCES].map(([file, text]) => [
    file,
    ts.createSourceFile(file, text, ts.ScriptTarget.ESNext),
  ]),
);
const IMPORTS = [...PARSED].flatMap(([file, source]) => importsOf(file, source));

describe("the dependency direction", () => {
  test("every file has its place", () => {
    expect([...SOURCES.keys()].filter((file) => placeOf(file) === null)).toEqual([]);
  });

  test("R280: every import goes down", () => {
    expect(IMPORTS.map(directionFault).filter((fault) => fault !== null)).toEqual([]);
  });

  test("few may touch configuration, tools, runners and the gate", () => {
    expect(IMPORTS.map(onlyFault).filter((fault) => fault !== null)).toEqual([]);
  });

  test("no place is part of a circle", () => {
    expect(circles(IMPORTS)).toEqual([]);
  });

  test("nothing is imported from tests, benches or the rest of the repository", () => {
    const outside = IMPORTS.filter((one) => one.kind === "outside");
    expect(outside.map((one) => `${one.from} ${one.to}`)).toEqual(OUTSIDE);
    expect(IMPORTS.filter((one) => one.to !== null && isTest(one.to))).toEqual([]);
  });

  test("no rule is left over", () => {
    const places = new Set([...SOURCES.keys()].map(placeOf));
    expect(Object.keys(DIRECTION).filter((place) => !places.has(place))).toEqual([]);
    for (const [place, { may = [], types = [] }] of Object.entries(DIRECTION)) {
      for (const target of [...may, ...types])
        expect([place, target, FILES.some((file) => within(file, target))]).toEqual([
          place,
          target,
          true,
        ]);
    }
  });
});

describe("packages and Node", () => {
  test("each package has its owner, and more than one has a reason", () => {
    expect(IMPORTS.map(packageFault).filter((fault) => fault !== null)).toEqual([]);
    const used = new Set(
      IMPORTS.filter((one) => one.kind === "package").map((one) => nameOf(one.to)),
    );
    expect(Object.keys(PACKAGES).filter((name) => !used.has(name))).toEqual([]);
    for (const [name, { owners, why }] of Object.entries(PACKAGES)) {
      const several = owners.length > 1 || owners.some((owner) => owner.endsWith("/"));
      expect([name, why !== undefined]).toEqual([name, several]);
    }
  });

  test("each danger has its owner", () => {
    expect(IMPORTS.map(dangerFault).filter((fault) => fault !== null)).toEqual([]);
  });
});

test("no module keeps state: two apps can live in one process", () => {
  const found = [...PARSED].flatMap(([file, source]) =>
    mutableNames(source).map((name) => `${file} ${name}`),
  );
  expect(found).toEqual(Object.keys(MUTABLE));
});

test("the checks see what they must", () => {
  const faults = (from: string, code: string): (string | null)[] =>
    importsOf(from, ts.createSourceFile(from, code, ts.ScriptTarget.ESNext))
      .flatMap((one) => [directionFault(one), onlyFault(one), packageFault(one), dangerFault(one)])
      .filter((fault) => fault !== null);
  const bad: [string, string][] = [
    ["entry/rest.ts", 'import { nativeRunner } from "../run/native.ts";'],
    ["entry/rest.ts", 'const { nativeRunner } = await import("../run/native.ts");'],
    ["entry/rest.ts", 'import { type Config } from "../config.ts";'],
    ["entry/rest.ts", 'export { createEngine } from "../engine.ts";'],
    ["entry/rest.ts", 'import { type Engine, createEngine } from "../engine.ts";'],
    ["entry/rest.ts", 'import "../tools/index.ts";'],
    ["gate/level.ts", 'import { createRecorder } from "../record/index.ts";'],
    ["run/native.ts", 'import type { Stage } from "../gate/stage.ts";'],
    ["tools/file/read.ts", 'import list from "./list.ts";'],
    ["tools/file/read.ts", 'import { AppError } from "../../errors.ts";'],
    ["tools/file/read.ts", 'import { readFile } from "node:fs/promises";'],
    ["store/store.ts", 'import { openRegistry } from "../tools/registry.ts";'],
    ["identity/index.ts", 'import { openSqlite } from "../store/sqlite.ts";'],
    ["util/json.ts", 'import { AppError } from "../errors.ts";'],
    ["engine.ts", "await import(name);"],
    ["engine.ts", 'import { z } from "zod";'],
    ["engine.ts", 'import x from "left-pad";'],
    ["engine.ts", 'import { spawn } from "node:child_process";'],
  ];
  for (const [from, code] of bad)
    expect([code, faults(from, code).length > 0]).toEqual([code, true]);
  const good: [string, string][] = [
    ["entry/rest.ts", 'import type { Engine } from "../engine.ts";'],
    ["entry/rest.ts", 'import { type Engine, type Explanation } from "../engine.ts";'],
    ["entry/mcp/server.ts", 'import type { Server } from "@modelcontextprotocol/server";'],
    ["tools/file/read.ts", 'import type { Json } from "../../call.ts";'],
  ];
  for (const [from, code] of good) expect([code, faults(from, code)]).toEqual([code, []]);

  const circle = [
    { from: "store/store.ts", to: "tools/registry.ts" },
    { from: "tools/registry.ts", to: "store/store.ts" },
  ];
  expect(circles(circle.map((one) => ({ ...one, kind: "file", typeOnly: false })))).not.toEqual([]);
  const state = "let a = 1; export const b = new Map<string, number>(), c = new Set([1]), d = 2;";
  expect(mutableNames(ts.createSourceFile("x.ts", state, ts.ScriptTarget.ESNext))).toEqual([
    "a",
    "b",
  ]);
});

/** "gate/" for "gate/level.ts": the longest key of the table that fits. */
function placeOf(file: string): string | null {
  const fits = Object.keys(DIRECTION).filter((place) => within(file, place));
  return fits.sort((a, b) => b.length - a.length)[0] ?? null;
}

function within(file: string, target: string): boolean {
  return target.endsWith("/") ? file.startsWith(target) : file === target;
}

function directionFault({ from, to, kind, typeOnly }: Import): string | null {
  if (to === null) return `${from}: imports a name that is computed`;
  if (kind !== "file") return null;
  const place = placeOf(from) ?? "";
  const rule = DIRECTION[place] ?? {};
  if (placeOf(to) === place && !rule.alone) return null;
  const allowed = [...(rule.may ?? []), ...(typeOnly ? (rule.types ?? []) : [])];
  if (allowed.some((target) => within(to, target))) return null;
  return `${from} may not import ${typeOnly ? "types of " : ""}${to}`;
}

function onlyFault({ from, to }: Import): string | null {
  const closed = Object.keys(ONLY).find((target) => to !== null && within(to, target));
  if (closed === undefined || ONLY[closed]?.some((owner) => within(from, owner))) return null;
  return `${from} may not touch ${to}: only ${ONLY[closed]?.join(", ")}`;
}

function packageFault({ from, to, kind, typeOnly }: Import): string | null {
  if (kind !== "package") return null;
  const owners = PACKAGES[nameOf(to)]?.owners ?? [];
  if (owners.some((owner) => within(from, owner))) return null;
  const folder = `${from.split("/", 1)[0]}/`;
  if (typeOnly && owners.some((owner) => owner.startsWith(folder))) return null;
  return `${from} may not import ${to}`;
}

function dangerFault({ from, to, kind, typeOnly }: Import): string | null {
  if (kind !== "node" || to === null || typeOnly) return null;
  const owners = DANGERS[to.replace(/^(node:\w+)\/.*/, "$1")];
  return owners?.some((owner) => within(from, owner)) === false
    ? `${from} may not import ${to}`
    : null;
}

/** "@trpc/server" of "@trpc/server/rpc". */
function nameOf(specifier: string | null): string {
  return (specifier ?? "")
    .split("/")
    .slice(0, specifier?.startsWith("@") ? 2 : 1)
    .join("/");
}

/** Circles between places, of what is loaded at run time. */
function circles(imports: readonly Import[]): string[] {
  const edges = new Map<string, Set<string>>();
  for (const { from, to, kind, typeOnly } of imports) {
    if (kind !== "file" || typeOnly || to === null) continue;
    const [a, b] = [topOf(from), topOf(to)];
    if (a !== b) edges.set(a, (edges.get(a) ?? new Set()).add(b));
  }
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (place: string, path: readonly string[]): void => {
    if (path.includes(place)) found.push([...path.slice(path.indexOf(place)), place].join(" → "));
    if (path.includes(place) || done.has(place)) return;
    for (const next of edges.get(place) ?? []) visit(next, [...path, place]);
    done.add(place);
  };
  for (const place of edges.keys()) visit(place, []);
  return found;
}

/** engine.ts and engine/ are one place, as are config.ts and config/. */
function topOf(file: string): string {
  return (placeOf(file) ?? file).replace(/^(engine|config)(\.ts|\/)$/, "$1");
}

function importsOf(from: string, source: ts.SourceFile): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    const text = specifier && ts.isStringLiteral(specifier) ? specifier.text : null;
    found.push({ from, typeOnly, ...resolved(from, text) });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, onlyTypes(node.importClause));
    if (ts.isExportDeclaration(node) && node.moduleSpecifier)
      add(node.moduleSpecifier, node.isTypeOnly || allTypes(node.exportClause));
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, true);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function onlyTypes(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  return clause.name === undefined && allTypes(clause.namedBindings);
}

function allTypes(bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined): boolean {
  if (!bindings || (!ts.isNamedImports(bindings) && !ts.isNamedExports(bindings))) return false;
  const names: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] = bindings.elements;
  return names.length > 0 && names.every((one) => one.isTypeOnly);
}

function resolved(from: string, to: string | null): Pick<Import, "to" | "kind"> {
  if (to === null) return { to, kind: "file" };
  if (to.startsWith("node:")) return { to, kind: "node" };
  if (!to.startsWith(".")) return { to, kind: "package" };
  const path = posix.normalize(posix.join(posix.dirname(from), to));
  return path.startsWith("..") ? { to, kind: "outside" } : { to: path, kind: "file" };
}

/** Names at the top of a module that can change: `let`, and collections that begin empty. */
function mutableNames(source: ts.SourceFile): string[] {
  return source.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => {
    const fixed = (declarationList.flags & ts.NodeFlags.Const) !== 0;
    return declarationList.declarations
      .filter((declaration) => !fixed || beginsEmpty(declaration))
      .map(({ name }) => (ts.isIdentifier(name) ? name.text : "{…}"));
  });
}

function beginsEmpty({ initializer: value, type }: ts.VariableDeclaration): boolean {
  if (!value || (type && ts.isTypeOperatorNode(type))) return false; // `readonly T[]`
  if (ts.isArrayLiteralExpression(value)) return value.elements.length === 0;
  if (!ts.isNewExpression(value) || !ts.isIdentifier(value.expression)) return false;
  const { text } = value.expression;
  return text.endsWith("Cache") || (/^(Weak)?(Map|Set)$/.test(text) && !value.arguments?.length);
}
