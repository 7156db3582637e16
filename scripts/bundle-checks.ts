// What a bundler lets pass and a user then meets: imports that only work with node_modules beside them.
import type { BuildOptions, Metafile } from "esbuild";
import { isBuiltin } from "node:module";

/** Left outside the bundle: the code that asks for them catches their absence. */
export const OPTIONAL_PACKAGES = {
  "@napi-rs/canvas": "pictures in PDF files; unpdf reads text without it",
  canvas: "pictures in linkedom's documents; we draw none",
  cssstyle: "style objects of linkedom's documents; asked for inside try",
  "pg-native": "a faster PostgreSQL driver; pg has its own",
  "playwright-core": "the optional peer for the browser tools",
  "supports-color": "colours of the package debug; asked for inside try",
} as const;

/**
 * A require that the bundler cannot follow is copied as it stands, and fails for the first user who reaches it: the
 * UMD build of a package hands `require` to a function, for example. The build fails instead.
 */
export const REQUIRE_FAULTS: NonNullable<BuildOptions["logOverride"]> = {
  "indirect-require": "error",
  "unsupported-require-call": "error",
  "unsupported-dynamic-import": "error",
  "require-resolve-not-external": "error",
};

/** Every import of the bundle that would fail, or give nothing, where it is installed. */
export function importFaults({ inputs }: Pick<Metafile, "inputs">): string[] {
  const faults: string[] = [];
  for (const [file, { imports }] of Object.entries(inputs)) {
    for (const { path, kind, external } of imports) {
      if (external) {
        const isKnown = isBuiltin(path) || path === "<runtime>" || path in OPTIONAL_PACKAGES;
        if (!isKnown) faults.push(`${file}: ${path} is neither bundled nor an optional package`);
      } else if (kind === "dynamic-import" && inputs[path]?.format === "cjs")
        faults.push(
          `${file}: import("${path}") of a CommonJS package has no named exports in a bundle; ` +
            "import it statically in a module of its own, and import that one lazily",
        );
    }
  }
  return faults;
}
