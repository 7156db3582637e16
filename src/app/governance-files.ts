// Reads the folder of governance files: rules, policies with their tests, and the relation schema.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AppError } from "../errors.ts";
import type { DocumentKind } from "../governance/governance.ts";

export type GovernanceTexts = Readonly<Record<DocumentKind, Readonly<Record<string, string>>>>;

/** The one that comes with Ostiary: beside the sources, or beside the bundle. */
export function packagedGovernance(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [join(here, "../../governance"), join(here, "../governance")];
  return places.find((place) => existsSync(join(place, "tools.yaml"))) ?? places[0] ?? "";
}

export async function readGovernanceFolder(folder: string): Promise<GovernanceTexts> {
  const read = async (within: string, endings: readonly string[]): Promise<Record<string, string>> => {
    const files: Record<string, string> = {};
    const path = join(folder, within);
    const names = await readdir(path).catch((cause: unknown) => {
      throw new AppError("BAD_REQUEST", "invalid_input", `cannot read the governance folder ${path}: ${(cause as NodeJS.ErrnoException).code ?? "unknown"}`, { remedy: "name a folder with tools.yaml, modes.yaml, plans.yaml, schema.zed and policies/" });
    });
    for (const name of names.sort())
      if (endings.some((ending) => name.endsWith(ending))) files[name] = await readFile(join(path, name), "utf8");
    return files;
  };
  return {
    governance: await read(".", [".yaml"]),
    policy: await read("policies", [".rego", ".json", ".yaml"]),
    relations: await read(".", [".zed"]),
  };
} // prettier-ignore
