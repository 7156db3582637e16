// Paths of the server itself (data directory, database, settings, governance): no tool may reach them.
import { dirname, join, resolve } from "node:path";
import { isReachableFrom, requireApart, type ProtectedPath } from "./path-separation.ts";
import type { Config } from "../config/config.ts";
import { AppError } from "../contract/errors.ts";
import { packagedFolder } from "../governance/rules/files/folder.ts";
import { SCRATCH_FOLDER } from "../governance/rules/workspaces.ts";

export interface ReadFiles {
  readonly configFile?: string | null;
  readonly secretFiles?: readonly string[];
}

/** Throws when a protected path lies where a tool may work: a tenant's, a session's or a scratch folder. */
export function requireProtectedApart(config: Config, files: ReadFiles): void {
  const { workspace, dataDir } = config;
  const paths = protectedPaths(config, files);
  for (const folder of [workspace, join(dataDir, "workspaces"), join(dataDir, SCRATCH_FOLDER)])
    requireApart(folder, paths);
}

/**
 * For a program that is given a folder of the host. Path rules do not apply in it, so no protected path may lie there,
 * nor may the folder lie in a protected one. The governance folder holds no secrets and may be read.
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
  const paths = protectedPaths(config, files).filter(
    ({ what }) => access === "rw" || what !== GOVERNANCE,
  );
  const found = isWithin ? paths[0] : paths.find((one) => isReachableFrom(path, one.path));
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

function protectedPaths(
  { dataDir, store, governance }: Config,
  { configFile, secretFiles = [] }: ReadFiles,
): readonly ProtectedPath[] {
  const database = /^sqlite:(.*)$/.exec(store)?.[1];
  // SQLite writes further files beside the database, so the whole folder is protected.
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
