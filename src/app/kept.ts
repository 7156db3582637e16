// What an installation keeps for itself, and where: none of it may be within reach of tools.
import { dirname, join, resolve } from "node:path";
import { isReachableFrom, requireApart, type Kept } from "./apart.ts";
import type { Config } from "../config/config.ts";
import { AppError } from "../contract/errors.ts";
import { packagedFolder } from "../governance/rules/files/folder.ts";
import { SCRATCH_FOLDER } from "../governance/rules/workspaces.ts";

export interface ReadFiles {
  readonly configFile?: string | null;
  readonly secretFiles?: readonly string[];
}

/** Throws when something of the server's own lies where a tool may work: a tenant's, a session's or a scratch folder. */
export function requireOwnApart(config: Config, files: ReadFiles): void {
  const { workspace, dataDir } = config;
  const kept = keptOf(config, files);
  for (const folder of [workspace, join(dataDir, "workspaces"), join(dataDir, SCRATCH_FOLDER)])
    requireApart(folder, kept);
}

/**
 * For a program that is given a folder of the host. The rules for paths do not hold in it, so nothing of the server's own
 * may lie there, nor the folder among it; the governance folder holds no secrets and may be read.
 */
export function requireFolderApart(
  config: Config,
  files: ReadFiles,
  folder: { readonly path: string; readonly access: "ro" | "rw" },
): void {
  const { path, access } = folder;
  const isOpen = (at: string): boolean => isReachableFrom(join(config.dataDir, at), path);
  const isWithin =
    isReachableFrom(config.dataDir, path) && !["workspace", "workspaces"].some(isOpen);
  const kept = keptOf(config, files).filter(({ what }) => access === "rw" || what !== GOVERNANCE);
  const found = isWithin ? kept[0] : kept.find((one) => isReachableFrom(path, one.path));
  if (!found) return;
  const where = isWithin ? "lies in" : "holds";
  throw new AppError(
    "FORBIDDEN",
    "path_forbidden",
    `folder ${path} ${where} ${found.what} (${found.path}), which no program may reach; it was not started`,
    { remedy: "give it a folder that is apart from what the server keeps for itself" },
  );
}

const GOVERNANCE = "the governance folder";

function keptOf(
  { dataDir, store, governance }: Config,
  { configFile, secretFiles = [] }: ReadFiles,
): readonly Kept[] {
  const database = /^sqlite:(.*)$/.exec(store)?.[1];
  // What SQLite writes beside the file has other names: its folder counts.
  const folder = database === undefined ? null : dirname(resolve(dataDir, database));
  const move = "move it elsewhere";
  return [
    {
      what: "the data directory",
      path: dataDir,
      remedy: "choose another with --data-dir or OSTIARY_DATA_DIR",
    },
    ...(folder === null
      ? []
      : [
          {
            what: "the folder of the database",
            path: folder,
            remedy: "choose another file in the setting store",
          },
        ]),
    ...(configFile
      ? [{ what: "the configuration file", path: configFile, remedy: move, named: true as const }]
      : []),
    ...secretFiles.map((path) => ({
      what: "a file that the configuration refers to",
      path,
      remedy: move,
      named: true as const,
    })),
    {
      what: GOVERNANCE,
      path: governance ?? packagedFolder(),
      remedy: "choose another in the setting governance",
      named: true as const,
    },
  ];
}
