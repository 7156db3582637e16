// Bundles the server and the CLI into dist/ (or the folder named): nothing in it needs node_modules.
import { build, type BuildOptions, type Plugin } from "esbuild";
import { copyFile, cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import ts from "typescript";
import { importFaults, OPTIONAL_PACKAGES, REQUIRE_FAULTS } from "./bundle-checks.ts";

const root = join(import.meta.dirname, "..");
const dist = resolve(root, process.argv[2] ?? "dist");
const fresh = `${dist}.new`;

/** Bundled CommonJS packages expect these three. */
const BANNER = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  "const __filename = import.meta.filename;",
  "const __dirname = import.meta.dirname;",
].join("\n");

/**
 * Imported as an ES module, node:http has all its getters read, and one of them loads Node's whole HTTP client: 30 ms
 * and 6 MB that an idle server never needs. Taken as a plain object the getters stay asleep.
 */
const lazyHttp: Plugin = {
  name: "lazy-http",
  setup(plugin) {
    plugin.onResolve({ filter: /^node:http$/ }, () => ({
      path: "node:http",
      namespace: "builtin",
    }));
    plugin.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
    }));
  },
};

/** The driver of Kafka looks for its file in a folder named dist beside its own; here it lies beside the chunk. */
const wasmBeside: Plugin = {
  name: "wasm-beside",
  setup(plugin) {
    plugin.onLoad({ filter: /wasm-utils\/dist\/index\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace("../dist/native.wasm", "./native.wasm"),
    }));
  },
};

/** The package's index names every language its messages exist in; we write our own. */
const oneLocale: Plugin = {
  name: "one-locale",
  setup(plugin) {
    plugin.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

const began = performance.now();
await rm(fresh, { recursive: true, force: true });
const shared: BuildOptions = {
  absWorkingDir: root,
  outdir: fresh,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "esnext",
  minify: true,
  legalComments: "external",
  banner: { js: BANNER },
  // Where a package has an ES module build, that one: its UMD or CommonJS build may hide requires from the bundler.
  mainFields: ["module", "main"],
  external: Object.keys(OPTIONAL_PACKAGES),
  plugins: [lazyHttp, wasmBeside, oneLocale],
  logLevel: "warning",
  logOverride: REQUIRE_FAULTS,
};
const { metafile } = await build({
  ...shared,
  // All outputs lie side by side: a chunk that starts a thread or process looks for its file beside itself.
  entryPoints: {
    "code-thread": "src/reach/code/code-thread.ts",
    "compute-thread": "src/core/run/powers/compute-thread.ts",
    "copy-back-thread": "src/storage/store/sqlite/copy-back-thread.ts",
    inside: "src/reach/sandbox/bubblewrap/inside.ts",
    main: "src/main.ts",
    "mask-thread": "src/app/mask-thread.ts",
    "otlp-thread": "src/telemetry/otlp-thread.ts",
    "search-thread": "src/core/run/powers/files/search-thread.ts",
    "sql-child": "src/reach/databases/sql-child.ts",
    writer: "src/storage/store/sqlite/writer.ts",
  },
  chunkNames: "[name]-[hash]",
  splitting: true,
  metafile: true,
});
// One file, since it goes alone into the sandbox.
const documents = await build({
  ...shared,
  entryPoints: { "documents-worker": "src/reach/documents/worker.ts" },
  metafile: true,
});
// For programs of others: one plain module and its types.
const client = await build({
  ...shared,
  entryPoints: { plan: "src/client/plan.ts" },
  platform: "neutral",
  banner: {},
  minify: false,
  legalComments: "none",
  metafile: true,
});
const source = await readFile(join(root, "src/client/plan.ts"), "utf8");
const types = ts.transpileDeclaration(source, { fileName: "plan.ts", reportDiagnostics: true });
const faults = [
  ...importFaults(metafile),
  ...importFaults(documents.metafile),
  ...importFaults(client.metafile),
  ...(types.diagnostics ?? []).map(({ messageText }) =>
    ts.flattenDiagnosticMessageText(messageText, " "),
  ),
];
if (faults.length > 0) {
  await rm(fresh, { recursive: true, force: true });
  throw new Error(`The bundle would not run:\n  ${faults.join("\n  ")}`);
}
await writeFile(join(fresh, "plan.d.ts"), types.outputText);
// The parser of PostgreSQL looks for it beside itself.
await copyFile(
  join(root, "node_modules/libpg-query/wasm/libpg-query.wasm"),
  join(fresh, "libpg-query.wasm"),
);
// The interpreter of callers' programs.
await copyFile(
  join(root, "node_modules/@jitl/quickjs-wasmfile-release-sync/dist/emscripten-module.wasm"),
  join(fresh, "emscripten-module.wasm"),
);
// The checksums of Kafka's messages.
await copyFile(
  join(root, "node_modules/@platformatic/wasm-utils/dist/native.wasm"),
  join(fresh, "native.wasm"),
);
await mkdir(join(fresh, "assets"));
await copyFile(
  join(root, "node_modules/@scalar/api-reference/dist/browser/standalone.js"),
  join(fresh, "assets/scalar.js"),
);
await copyFile(
  join(root, "node_modules/mermaid/dist/mermaid.min.js"),
  join(fresh, "assets/mermaid.min.js"),
);
await cp(join(root, "console/dist"), join(fresh, "assets/console"), { recursive: true });
await cp(join(root, "governance"), join(fresh, "assets/governance"), { recursive: true });
await cp(join(root, "docs"), join(fresh, "assets/docs"), { recursive: true });
// The swap is short, so that a start during a build finds the old bundle or the new one.
await rm(dist, { recursive: true, force: true });
await rename(fresh, dist);

const outputs = Object.entries(metafile.outputs).filter(([name]) => name.endsWith(".js"));
const bytes = outputs.reduce((sum, [, output]) => sum + output.bytes, 0);
console.log(
  `${dist}: ${outputs.length} files, ${(bytes / 1_048_576).toFixed(1)} MB, ${Math.round(performance.now() - began)} ms`,
);
