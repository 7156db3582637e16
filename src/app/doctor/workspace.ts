// The folder that file tools work in, and whether programs can: as root they get a copy of a folder of root's.
import { opendirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DoctorFinding } from "./finding.ts";
import type { Place } from "./place.ts";

/** As the sandbox copies them; see docs/sandbox.md. */
const MOST_COPIED = 50_000;

export function checkWorkspace({ config }: Place): DoctorFinding[] {
  if (config === null) return [];
  const name = "workspace";
  const { workspace } = config;
  const owner = statSync(workspace, { throwIfNoEntry: false })?.uid;
  const isCopied = process.getuid?.() === 0 && owner === 0;
  if (!isCopied || !hasMoreThan(workspace, MOST_COPIED))
    return [{ name, status: "ok", detail: workspace }];
  return [
    {
      name,
      status: "warning",
      detail: `${workspace} has more than ${MOST_COPIED} entries and belongs to root: programs run by tools would need a copy of it, and are refused`,
      fix: "start it on a smaller folder: OSTIARY_WORKSPACE=<folder> ostiary serve",
    },
  ];
}

/** Folders that cannot be read count as one entry. */
function hasMoreThan(root: string, most: number): boolean {
  const folders = [root];
  let seen = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      using entries = opendirSync(folder);
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (++seen > most) return true;
        if (entry.isDirectory()) folders.push(join(folder, entry.name));
      }
    } catch {
      continue;
    }
  }
  return false;
}
