// Bundles the Rego evaluator for browsers: one ES module, nothing of Node in it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

const PACKAGE = join(import.meta.dirname, "..");

/** The package yaml reads and writes; the evaluator has a writer of its own, so that half is left out. */
const withoutYamlWriter: Plugin = {
  name: "without-yaml-writer",
  setup(plugin) {
    plugin.onLoad({ filter: /yaml[\\/]browser[\\/]dist[\\/]stringify[\\/]/ }, async ({ path }) => {
      const [, names = ""] = /export \{([^}]*)\};?\s*$/.exec(await readFile(path, "utf8")) ?? [];
      const exported = names.split(",").map((name) => name.trim());
      return {
        contents: exported
          .map(
            (name) =>
              `export function ${name}() { throw new TypeError("the YAML writer is not in this bundle"); }`,
          )
          .join("\n"),
      };
    });
  },
};

/** One minified ES module without imports. `entry` is an absolute path. */
export async function bundleRego(entry = join(PACKAGE, "src/browser.ts")): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2024",
    legalComments: "none",
    plugins: [withoutYamlWriter],
    write: false,
    logLevel: "error",
  });
  const [file] = outputFiles;
  if (!file) throw new Error(`nothing was built from ${entry}`);
  return file.contents;
}
