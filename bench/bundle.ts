// The bundle as it ships, built anew when the sources are newer.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const BUNDLE = join(ROOT, "dist", "main.js");
const BUILD = join(ROOT, "scripts", "build.ts");

/** Null when `dist/` holds what `src/` says; otherwise why it cannot. */
export function freshBundle(): string | null {
  if (existsSync(BUNDLE) && statSync(BUNDLE).mtimeMs > newest(join(ROOT, "src"))) return null;
  if (!existsSync(BUILD)) return "there is no build script";
  try {
    execFileSync(process.execPath, [BUILD], { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  } catch {
    return "the build failed";
  }
  return existsSync(BUNDLE) ? null : "the build made no bundle";
}

function newest(folder: string): number {
  const times = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(test|suite)\.ts$/.test(entry.name))
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs);
  return Math.max(0, ...times);
}
