// The manifest that is published. package.json says what the code is built from; the bundle already contains all of
// it, so that people who install the package get no dependencies and no scripts.
// `write` puts it in the place of package.json before packing, `restore` takes it back afterwards.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/** Everything else in package.json is for those who build and test. */
const PUBLISHED = [
  "name",
  "version",
  "description",
  "keywords",
  "license",
  "type",
  "bin",
  "exports",
  "files",
  "engines",
  "peerDependencies",
  "peerDependenciesMeta",
] as const;

/** The published form of the given package.json. */
export function publishedManifest(text: string): string {
  const manifest = JSON.parse(text) as Record<string, unknown>;
  const kept = PUBLISHED.map((field) => {
    if (!(field in manifest)) throw new Error(`package.json has no field ${field}`);
    return [field, manifest[field]];
  });
  return `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`;
}

const manifestFile = join(ROOT, "package.json");
/** Holds package.json while the published form stands in its place. */
const savedFile = join(ROOT, ".package.json.saved");

/** A pack that was interrupted left the full manifest in the saved file. */
function restore(): void {
  if (existsSync(savedFile)) renameSync(savedFile, manifestFile);
}

function write(): void {
  restore();
  const text = readFileSync(manifestFile, "utf8");
  writeFileSync(savedFile, text);
  writeFileSync(manifestFile, publishedManifest(text));
}

/** npm would send the registry the manifest of the folder, with dependencies that the tarball does not need. */
function refuseFolder(): void {
  throw new Error("Publish the tarball, not the folder: `npm pack`, then `npm publish <tarball>`");
}

const COMMANDS: Record<string, () => void> = { write, restore, "refuse-folder": refuseFolder };

if (import.meta.main) {
  const [name = ""] = process.argv.slice(2);
  const command = COMMANDS[name];
  if (!command) throw new Error(`Expected ${Object.keys(COMMANDS).join(", ")}, got "${name}"`);
  command();
}
