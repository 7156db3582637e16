import { createHash } from "node:crypto";

/**
 * A name for a folder that stands for an id: the id itself where it is plain, else its checksum behind an underscore.
 * Different ids never share a name, also where the file system folds case.
 */
export function safeName(id: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(id)) return id;
  return `_${createHash("sha256").update(id).digest("hex").slice(0, 40)}`;
}
