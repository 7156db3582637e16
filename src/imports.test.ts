// Which file may import which: the layers as data, checked against the import lines of every source file.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

/**
 * From the bottom up. A file may import from its own layer and from every layer below it.
 * ARCHITECTURE.md explains each in a sentence.
 */
const LAYERS: readonly (readonly string[])[] = [
  ["contract", "util", "client"],
  ["telemetry"],
  ["storage"],
  ["work"],
  ["tools"],
  ["reach"],
  ["governance"],
  ["core"],
  ["agents"],
  ["server"],
  ["config"],
  ["app"],
  ["cli"],
  ["main.ts"],
];

interface Rule {
  /** Folders end with a slash; the empty text stands for every file. */
  readonly from: string;
  readonly to: string;
  /** What may be imported all the same. */
  readonly except?: readonly string[];
  /** Types may be imported all the same. */
  readonly allowTypes?: true;
  readonly why: string;
}

const STEPS = ["identity", "gate", "run", "record"];

/** Stricter than the layers. Imports within `to` are always allowed. */
const FORBIDDEN: readonly Rule[] = [
  ...STEPS.flatMap((step) =>
    [...STEPS, "engine"]
      .filter((other) => other !== step)
      .map((other) => ({
        from: `core/${step}/`,
        to: `core/${other}/`,
        why: "the steps of the path do not know each other; the engine joins them",
      })),
  ),
  ...["core/", "agents/", "reach/"].map((to) => ({
    from: "server/",
    to,
    allowTypes: true as const,
    why: "doors decide nothing; they are given what they use",
  })),
  {
    from: "",
    to: "storage/store/",
    // body.ts describes the bodies of events, which the recorder writes and the store reads.
    except: ["storage/store/store.ts", "storage/store/follow.ts", "storage/store/body.ts"],
    why: "a database is reached through the store's interface",
  },
  {
    from: "tools/",
    to: "storage/",
    allowTypes: true,
    why: "the registry is given its store",
  },
];

/**
 * A tool reaches the world only through its powers: this is all that a tool may import besides zod and the `shared`
 * folder of its category.
 */
const TOOL_IMPORTS = ["contract/tool.ts", "contract/powers/database.ts", "util/"];
const TOOL_TYPES = ["contract/"];
const isToolFile = (file: string): boolean => /^tools\/[^/]+\//.test(file);

/** What only a few files may import. */
const ONLY: Record<string, readonly string[]> = {
  "config/": ["app/", "cli/", "config/"],
  "tools/index.ts": ["app/"],
  "core/run/native.ts": ["app/"],
  "core/run/powers/": ["app/", "core/run/powers/"],
  "core/gate/": ["app/", "core/engine/", "core/gate/"],
  "app/": ["app/", "cli/"],
};

/**
 * Who may import a package, and why where it is more than one file. Types alone may be imported by the folder's
 * others.
 */
const PACKAGES: Record<string, { readonly owners: readonly string[]; readonly why?: string }> = {
  "@authzed/authzed-node": {
    owners: ["governance/relations/spicedb.ts", "governance/relations/spicedb/"],
    why: "the client of SpiceDB and its messages",
  },
  "@marcbachmann/cel-js": {
    owners: [
      "governance/relations/embedded/caveat.ts",
      "governance/relations/embedded/parameter.ts",
    ],
    why: "caveats and the types of their parameters",
  },
  "@anthropic-ai/sdk": { owners: ["reach/models/anthropic.ts"] },
  "@clack/prompts": { owners: ["cli/output/terminal.ts"] },
  "@hono/node-server": { owners: ["server/http/web-app.ts"] },
  "@modelcontextprotocol/client": {
    owners: ["reach/upstream/"],
    why: "one side of every connection upstream, loaded with the first",
  },
  "@modelcontextprotocol/node": { owners: ["server/mcp/sdk.ts"] },
  "@modelcontextprotocol/server": {
    owners: ["server/mcp/sdk.ts", "server/stdio/stdio.ts"],
    why: "both load it late: the one for HTTP, the other for stdin and stdout",
  },
  "@opentelemetry/otlp-exporter-base": { owners: ["telemetry/export.ts"] },
  "@ostiary/rego": {
    owners: ["cli/policy/", "governance/policy/"],
    why: "our own evaluator: it decides, and people check and test their policies with it",
  },
  "@platformatic/kafka": { owners: ["storage/events/kafka.ts"] },
  "@trpc/server": { owners: ["server/trpc.ts"] },
  ajv: { owners: ["core/gate/validators.ts"] },
  cockatiel: {
    owners: ["reach/breaker.ts", "reach/models/ask.ts", "reach/upstream/resilience.ts"],
    why: "breakers; models asked again; how many requests a server gets at once",
  },
  commander: { owners: ["cli/"], why: "each command declares its own options" },
  "csv-parse": { owners: ["reach/documents/readers/csv.ts"] },
  defuddle: { owners: ["reach/documents/readers/html.ts"] },
  ioredis: { owners: ["storage/state/redis.ts"] },
  croner: { owners: ["agents/workflows/cron.ts"] },
  hono: { owners: ["server/"], why: "each part of the site is a router of its own" },
  "ipaddr.js": { owners: ["reach/egress/hosts.ts"] },
  "jsonc-parser": {
    owners: ["cli/connect/", "reach/upstream/admin/import-clients.ts"],
    why: "the configuration files of AI clients: edited, and read",
  },
  kysely: { owners: ["storage/store/"], why: "one set of queries for both databases" },
  "libpg-query": { owners: ["reach/databases/guard/postgres.ts"] },
  linkedom: { owners: ["reach/documents/readers/html.ts"] },
  "lru-cache": {
    owners: [
      "agents/agents.ts",
      "agents/chat/session.ts",
      "app/client-taint.ts",
      "core/identity/key-callers.ts",
      "core/run/cache.ts",
    ],
    why: "what agents and clients have read; callers by rights and keys; answers that may be given again",
  },
  mammoth: { owners: ["reach/documents/readers/docx.ts"] },
  pg: {
    owners: [
      "reach/databases/postgres/postgres.ts",
      "storage/store/postgres/postgres.ts",
      "storage/store/postgres/message.ts",
    ],
    why: "databases of others, and our own",
  },
  picocolors: { owners: ["cli/output/terminal.ts"] },
  pino: { owners: ["app/logging.ts"] },
  "playwright-core": { owners: ["reach/browser/chromium.ts"] },
  "quickjs-emscripten": { owners: ["reach/code/code-thread.ts"] },
  re2js: {
    owners: [
      "governance/relations/embedded/caveat.ts",
      "core/run/powers/files/search-matcher.ts",
      "util/schema/linear-pattern.ts",
    ],
    why: "CEL's matches; file/search; patterns of foreign schemas",
  },
  unbash: {
    owners: ["governance/rules/arguments/shell.ts", "util/shell-words.ts"],
    why: "the judge of commands, and the words of one command; both read them alike",
  },
  "smol-toml": { owners: ["cli/connect/edit.ts"] },
  unpdf: { owners: ["reach/documents/readers/pdf.ts"] },
  yaml: {
    owners: [
      "config/file.ts",
      "reach/http-api/yaml.ts",
      "governance/rules/files/yaml.ts",
      "agents/records/file.ts",
      "agents/yaml-file.ts",
      "governance/relations/playground.ts",
    ],
    why: "the configuration, governance, agent and tool files; OpenAPI documents; SpiceDB's validation files",
  },
  zod: {
    owners: [
      "reach/browser/browser.ts",
      "config/",
      "contract/agent-config.ts",
      "contract/tool.ts",
      "reach/databases/database.ts",
      "reach/egress/secrets.ts",
      "reach/documents/sandboxed.ts",
      "server/api/",
      "reach/models/config.ts",
      "governance/policy/policy.ts",
      "agents/records/schema.ts",
      "governance/relations/relation.ts",
      "reach/web-search/web-search.ts",
      "storage/events/sink.ts",
      "storage/state/state.ts",
      "storage/store/store.ts",
      "tools/",
      "reach/upstream/config.ts",
    ],
    why: "schemas live beside their feature",
  },
};

/** Modules of Node that reach out of the process: who owns the danger. */
const DANGERS: Record<string, readonly string[]> = {
  "node:child_process": [
    "app/doctor/",
    "cli/",
    "reach/databases/children.ts",
    "core/run/powers/host/",
    "reach/sandbox/",
    "reach/upstream/stdio/unsandboxed.ts",
  ],
  "node:dgram": [],
  "node:dns": ["reach/egress/check.ts"],
  "node:fs": [
    "app/doctor/",
    "app/path-separation.ts",
    "app/ledger.ts",
    "reach/browser/",
    "cli/",
    "config/",
    "storage/data-dir.ts",
    "reach/databases/sqlite/sqlite.ts",
    "reach/documents/",
    "server/pages/console-files.ts",
    "server/pages/docs.ts",
    "governance/rules/arguments/",
    "governance/rules/files/folder.ts",
    "governance/rules/paths/links.ts",
    "storage/ledger/checkpoint-file.ts",
    "storage/ledger/segments.ts",
    "governance/modes/machine.ts",
    "core/record/process-figures.ts",
    "core/run/powers/",
    "reach/sandbox/",
    "storage/store/sqlite/sqlite.ts",
    "reach/upstream/stdio/folder.ts",
    "reach/upstream/stdio/process.ts",
    "reach/upstream/stdio/program-folders.ts",
    "reach/upstream/stdio/program.ts",
    "util/files/watched-files.ts",
  ],
  "node:http": ["reach/egress/", "server/"],
  "node:http2": [],
  "node:https": [],
  // Those below config/ and relation/, and client-address.ts, judge addresses; they connect to nothing.
  "node:net": [
    "app/doctor/",
    "cli/doctor-place.ts",
    "config/schema.ts",
    "reach/egress/",
    "server/http/client-address.ts",
    "server/http/listener.ts",
    "governance/relations/embedded/caveat.ts",
    "governance/relations/embedded/parameter.ts",
    "reach/sandbox/bubblewrap/",
  ],
  "node:sqlite": [
    "app/doctor/",
    "storage/data-dir.ts",
    "reach/databases/sqlite/run.ts",
    "reach/databases/sqlite/authorizer.ts",
    "reach/databases/sqlite/catalogue.ts",
    "storage/store/",
  ],
  "node:tls": ["reach/egress/dial.ts"],
  "node:vm": [],
  "node:worker_threads": [
    "app/mask-thread.ts",
    "app/mask-threads.ts",
    "reach/code/",
    "core/run/threads.ts",
    "core/run/powers/compute-thread.ts",
    "core/run/powers/files/search-thread.ts",
    "storage/store/",
    "telemetry/",
  ],
};

/** Module-level values that change, each with its excuse. */
const MUTABLE: Record<string, string> = {
  "server/mcp/param-headers.ts known":
    "weak, keyed by a frozen tool: remembers a pure answer about it",
};

/** Imports that cross from src into the rest of the repository. */
const OUTSIDE = ["util/version.ts ../../package.json"];

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

describe("layers", () => {
  test("every file belongs to a layer", () => {
    expect([...SOURCES.keys()].filter((file) => layerOf(file) === -1)).toEqual([]);
  });

  test("R280: every import goes down", () => {
    expect(IMPORTS.map(layerFault).filter((fault) => fault !== null)).toEqual([]);
  });

  test("steps, doors, stores, tools and settings keep their narrower rules", () => {
    const faults = IMPORTS.flatMap((one) => [ruleFault(one), toolFault(one), onlyFault(one)]);
    expect(faults.filter((fault) => fault !== null)).toEqual([]);
  });

  test("no room is part of a circle", () => {
    expect(circles(IMPORTS)).toEqual([]);
  });

  test("nothing is imported from tests, benches or the rest of the repository", () => {
    const outside = IMPORTS.filter((one) => one.kind === "outside");
    expect(outside.map((one) => `${one.from} ${one.to}`)).toEqual(OUTSIDE);
    expect(IMPORTS.filter((one) => one.to !== null && isTest(one.to))).toEqual([]);
  });

  test("no rule is left over", () => {
    const named = [
      ...LAYERS.flat().map((name) => (name.endsWith(".ts") ? name : `${name}/`)),
      ...FORBIDDEN.flatMap(({ from, to, except = [] }) => [from, to, ...except]),
      ...Object.keys(ONLY),
    ];
    expect(named.filter((target) => !FILES.some((file) => within(file, target)))).toEqual([]);
  });

  test("ARCHITECTURE.md lists the same layers in the same order", () => {
    const page = readFileSync(join(SRC, "../ARCHITECTURE.md"), "utf8");
    const rows = [...page.matchAll(/^\| `src\/([\w.]+)\/?`/gm)].map(([, name]) => name);
    expect(rows).toEqual(LAYERS.toReversed().flat());
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
      .flatMap((one) => [
        layerFault(one),
        ruleFault(one),
        toolFault(one),
        onlyFault(one),
        packageFault(one),
        dangerFault(one),
      ])
      .filter((fault) => fault !== null);
  const bad: [string, string][] = [
    ["server/rest.ts", 'import { nativeRunner } from "../core/run/native.ts";'],
    ["server/rest.ts", 'const { nativeRunner } = await import("../core/run/native.ts");'],
    ["server/rest.ts", 'import { type Config } from "../config/config.ts";'],
    ["server/rest.ts", 'export { createEngine } from "../core/engine/engine.ts";'],
    ["server/rest.ts", 'import { type Engine, createEngine } from "../core/engine/engine.ts";'],
    ["server/rest.ts", 'import "../tools/index.ts";'],
    ["core/gate/level.ts", 'import { createRecorder } from "../record/index.ts";'],
    ["core/run/native.ts", 'import type { Stage } from "../gate/stage.ts";'],
    ["tools/file/read.ts", 'import list from "./list.ts";'],
    ["tools/file/read.ts", 'import { size } from "../ai/shared/png.ts";'],
    ["tools/file/shared/glob.ts", 'import list from "../list.ts";'],
    ["tools/file/read.ts", 'import { AppError } from "../../contract/errors.ts";'],
    ["tools/file/read.ts", 'import { readFile } from "node:fs/promises";'],
    ["storage/store/store.ts", 'import { openRegistry } from "../../tools/registry.ts";'],
    [
      "core/identity/index.ts",
      'import { openSqlite } from "../../storage/store/sqlite/sqlite.ts";',
    ],
    ["util/ids.ts", 'import { register } from "../telemetry/tracing.ts";'],
    ["core/engine/engine.ts", "await import(name);"],
    ["core/engine/engine.ts", 'import { z } from "zod";'],
    ["core/engine/engine.ts", 'import x from "left-pad";'],
    ["core/engine/engine.ts", 'import { spawn } from "node:child_process";'],
  ];
  for (const [from, code] of bad)
    expect([code, faults(from, code).length > 0]).toEqual([code, true]);
  const good: [string, string][] = [
    ["server/rest.ts", 'import type { Engine } from "../core/engine/engine.ts";'],
    ["server/rest.ts", 'import { type Engine, type Powers } from "../core/engine/engine.ts";'],
    ["server/mcp/server.ts", 'import type { Server } from "@modelcontextprotocol/server";'],
    ["tools/file/read.ts", 'import type { Json } from "../../contract/call.ts";'],
  ];
  for (const [from, code] of good) expect([code, faults(from, code)]).toEqual([code, []]);

  const circle = [
    { from: "storage/store/store.ts", to: "storage/ledger/ledger.ts" },
    { from: "storage/ledger/ledger.ts", to: "storage/store/store.ts" },
  ];
  expect(circles(circle.map((one) => ({ ...one, kind: "file", typeOnly: false })))).not.toEqual([]);
  const state = "let a = 1; export const b = new Map<string, number>(), c = new Set([1]), d = 2;";
  expect(mutableNames(ts.createSourceFile("x.ts", state, ts.ScriptTarget.ESNext))).toEqual([
    "a",
    "b",
  ]);
});

/** The layer's number from the bottom; -1 for a file that belongs to none. */
function layerOf(file: string): number {
  const top = file.split("/", 1)[0] ?? "";
  return LAYERS.findIndex((names) => names.includes(top));
}

/** "core/gate" for "core/gate/level.ts", "server" for "server/rest.ts" and all below. */
function roomOf(file: string): string {
  const depth = /^(?:core|governance|reach|storage)\/[^/]+\//.test(file) ? 2 : 1;
  return file.split("/").slice(0, depth).join("/");
}

function within(file: string, target: string): boolean {
  return target.endsWith("/") || target === "" ? file.startsWith(target) : file === target;
}

function layerFault({ from, to, kind }: Import): string | null {
  if (to === null) return `${from}: imports a name that is computed`;
  return kind === "file" && layerOf(to) > layerOf(from) ? `${from} may not import ${to}` : null;
}

function ruleFault({ from, to, kind, typeOnly }: Import): string | null {
  if (kind !== "file" || to === null) return null;
  const broken = FORBIDDEN.find(
    (rule) =>
      within(from, rule.from) &&
      within(to, rule.to) &&
      !within(from, rule.to) &&
      !rule.except?.some((target) => within(to, target)) &&
      !(rule.allowTypes && typeOnly),
  );
  return broken === undefined ? null : `${from} may not import ${to}: ${broken.why}`;
}

function toolFault({ from, to, kind, typeOnly }: Import): string | null {
  if (kind !== "file" || to === null || !isToolFile(from)) return null;
  const shared = `${from.split("/", 2).join("/")}/shared/`;
  const allowed = [...TOOL_IMPORTS, shared, ...(typeOnly ? TOOL_TYPES : [])];
  return allowed.some((target) => within(to, target)) ? null : `the tool ${from} imports ${to}`;
}

function onlyFault({ from, to }: Import): string | null {
  const closed = Object.keys(ONLY).find((target) => to !== null && within(to, target));
  if (closed === undefined || ONLY[closed]?.some((owner) => within(from, owner))) return null;
  return `${from} may not import ${to}: only ${ONLY[closed]?.join(", ")} may`;
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

/** Circles between rooms, of what is loaded at run time. */
function circles(imports: readonly Import[]): string[] {
  const edges = new Map<string, Set<string>>();
  for (const { from, to, kind, typeOnly } of imports) {
    if (kind !== "file" || typeOnly || to === null) continue;
    const [a, b] = [roomOf(from), roomOf(to)];
    if (a !== b) edges.set(a, (edges.get(a) ?? new Set()).add(b));
  }
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (room: string, path: readonly string[]): void => {
    if (path.includes(room)) found.push([...path.slice(path.indexOf(room)), room].join(" → "));
    if (path.includes(room) || done.has(room)) return;
    for (const next of edges.get(room) ?? []) visit(next, [...path, room]);
    done.add(room);
  };
  for (const room of edges.keys()) visit(room, []);
  return found;
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
