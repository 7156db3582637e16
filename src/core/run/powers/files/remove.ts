import { rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import { forbidden, noSuchPath } from "./fault.ts";
import { locate, withEntry, type FolderEntry, type FileContext } from "./place.ts";
import { isRepositoryAt } from "./repository.ts";
import { typeOf } from "./stat.ts";
import { walkTree, type TreeEntry } from "./tree.ts";
import { hashOf, stale } from "./write.ts";

export const removeWith =
  (context: FileContext): FilesPower["remove"] =>
  async (path, { recursive, expectedSha256 }) => {
    const located = await locate(context, path, "write", { itself: true });
    return withEntry(context, path, located, { access: "write" }, async (entry) => {
      const stat = await entry.look();
      if (!stat) throw noSuchPath(path);
      if (expectedSha256 !== undefined) {
        const actual = stat.isFile() ? await hashOf(context, path, entry, stat) : null;
        if (actual !== expectedSha256.toLowerCase()) throw stale(path, actual);
      }
      const type = typeOf(stat);
      if (type !== "dir") {
        await unlink(entry.reach);
        return { path: located.shown, type, files: 1, bytes: Number(stat.size) };
      }
      const removed = recursive ? await empty(context, path, entry) : { files: 0, bytes: 0 };
      await rmdir(entry.reach);
      return { path: located.shown, type, ...removed };
    });
  };

/** Nothing is touched unless all of it may be. */
async function empty(
  context: FileContext,
  given: string,
  top: FolderEntry,
): Promise<{ files: number; bytes: number }> {
  const requireAllowed = async ({ within, stat, reach }: TreeEntry): Promise<void> => {
    const isOwn = stat.isDirectory() && (await isRepositoryAt(reach));
    if (isOwn || !context.paths.allows(join(top.real, within), "write"))
      throw forbidden(
        given,
        `holds ${within}, which may not be changed`,
        "remove the other entries one by one",
      );
  };
  await walkTree(context, given, top.reach, { before: requireAllowed });
  const counts = { files: 0, bytes: 0 };
  await walkTree(context, given, top.reach, {
    async before(entry) {
      await requireAllowed(entry);
      if (entry.stat.isDirectory()) return;
      await unlink(entry.reach);
      counts.files++;
      counts.bytes += Number(entry.stat.size);
    },
    after: ({ reach }) => rmdir(reach),
  });
  return counts;
}
