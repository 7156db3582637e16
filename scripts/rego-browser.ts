// Bundles the Rego evaluator for browsers: one ES module, nothing of Node in it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

const ROOT = join(import.meta.dirname, "..");

/** The package reads and writes YAML; the evaluator writes its own, so that half stays at home. */
const withoutYamlWriter: Plugin = {
  name: "without-yaml-writer",
  setup(plugin) {
    plugin.onLoad({ filter: /yaml[\\/]browser[\\/]dist[\\/]stringify[\\/]/ }, async ({ path }) => {
      const [, names = ""] = /export \{([^}]*)\};?\s*$/.exec(await readFile(path, "utf8")) ?? [];
      const exported = names.split(",").map((name) => name.trim());
      return {
        contents: exported
          .map((name) => `export function ${name}() { throw new TypeError("nothing is written"); }`)
          .join("\n"),
      };
    });
  },
};

export async function bundleRego(entry = "src/policy/rego/browser.ts"): Promise<Uint8Array> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
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
