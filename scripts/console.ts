// Builds the web console into console/dist. With --if-needed only where that is missing or older than its sources.
import { existsSync, globSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
import { build } from "vite";

const ROOT = join(import.meta.dirname, "..");
const CONSOLE = join(ROOT, "console");
const BUILT = join(CONSOLE, "dist/index.html");
const SOURCES = ["console/{index.html,*.ts,package.json}", "console/{src,public}/**/*"];
/** What the first page loads, in bytes after gzip. */
const FIRST_LOAD_LIMIT = 250 * 1024;

function isCurrent(): boolean {
  if (!existsSync(BUILT)) return false;
  const builtAt = statSync(BUILT).mtimeMs;
  return globSync(SOURCES, { cwd: ROOT }).every(
    (file) => statSync(join(ROOT, file)).mtimeMs <= builtAt,
  );
}

/** The document, and all scripts and styles that it names. */
function firstLoadBytes(): number {
  const page = readFileSync(BUILT, "utf8");
  const named = [...page.matchAll(/(?:src|href)="\/console\/([^"]+\.(?:js|css))"/g)];
  const files = named.map(([, name]) => readFileSync(join(CONSOLE, "dist", name ?? "")));
  return [Buffer.from(page), ...files].reduce((sum, bytes) => sum + gzipSync(bytes).byteLength, 0);
}

if (!process.argv.includes("--if-needed") || !isCurrent()) {
  const began = performance.now();
  console.error("building the console …");
  // A test runner says "test", which would build React with its checks for developers.
  process.env["NODE_ENV"] = "production";
  await build({ root: CONSOLE, logLevel: "warn" });
  const bytes = firstLoadBytes();
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.error(`console built in ${seconds} s, first load ${Math.ceil(bytes / 1024)} kB (gzip)`);
  if (bytes > FIRST_LOAD_LIMIT) throw new Error(`The first load is over ${FIRST_LOAD_LIMIT} bytes`);
}
