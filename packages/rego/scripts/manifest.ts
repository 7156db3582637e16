// package.json in its two forms. In this repository the exports name the TypeScript sources, which Node, tsc, vitest
// and esbuild all read through the workspace link. A tarball holds built JavaScript instead: Node does not strip
// types below node_modules. `npm pack` runs `publish` before it (prepack) and `develop` after it (postpack).
//   node scripts/manifest.ts publish|develop [folder]
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

interface Built {
  readonly types: string;
  readonly default: string;
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | Built>>;
}

const SOURCE = /^\.\/src\/(.*)\.ts$/;
const BUILT = /^\.\/dist\/(.*)\.js$/;

function published(target: string | Built): string | Built {
  if (typeof target !== "string") return target;
  const [, name] = SOURCE.exec(target) ?? [];
  if (name === undefined) throw new Error(`${target} is not below src/`);
  return { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` };
}

function developed(target: string | Built): string | Built {
  if (typeof target === "string") return target;
  const [, name] = BUILT.exec(target.default) ?? [];
  if (name === undefined) throw new Error(`${target.default} is not below dist/`);
  return `./src/${name}.ts`;
}

const [form = "", folder = join(import.meta.dirname, "..")] = process.argv.slice(2);
const change = { publish: published, develop: developed }[form];
if (!change) throw new Error("usage: node scripts/manifest.ts publish|develop [folder]");
const file = join(resolve(folder), "package.json");
const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
const exports = Object.fromEntries(
  Object.entries(manifest.exports).map(([entry, target]) => [entry, change(target)]),
);
writeFileSync(file, `${JSON.stringify({ ...manifest, exports }, null, 2)}\n`);
