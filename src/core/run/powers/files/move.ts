// Moving. A folder may contain entries that no single write could create there, so every entry is checked at both of
// its paths.
import type { BigIntStats } from "node:fs";
import { link, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import { copyWith } from "./copy.ts";
import { conflict, failed, forbidden, noSuchPath } from "./fault.ts";
import { locate, withEntry, type FolderEntry, type FileContext } from "./place.ts";
import { removeWith } from "./remove.ts";
import { isRepositoryAt } from "./repository.ts";
import { requireOutside, walkTree } from "./tree.ts";
import { exists, requireFilePlace } from "./write.ts";

export const moveWith =
  (context: FileContext): FilesPower["move"] =>
  async (from, to, { overwrite }) => {
    const source = await locate(context, from, "write", { itself: true });
    const target = await locate(context, to, "write", { itself: true });
    const names = { from: source.shown, to: target.shown };
    const moved = await withEntry(context, from, source, { access: "write" }, (here) =>
      withEntry(context, to, target, { access: "write" }, (there) =>
        context.inTurn(() => moveEntry(context, { from, to, overwrite }, here, there)),
      ),
    );
    if (moved !== "other device") return { ...names, overwritten: moved === "overwritten" };
    await copyWith(context)(from, to, { overwrite, recursive: true });
    await removeWith(context)(from, { recursive: true });
    return { ...names, overwritten: overwrite };
  };

interface Wanted {
  readonly from: string;
  readonly to: string;
  readonly overwrite: boolean;
}

async function moveEntry(
  context: FileContext,
  { from, to, overwrite }: Wanted,
  here: FolderEntry,
  there: FolderEntry,
): Promise<"moved" | "overwritten" | "other device"> {
  const [stat, before] = [await here.look(), await there.look()];
  if (!stat) throw noSuchPath(from);
  if (before && before.dev === stat.dev && before.ino === stat.ino && here.real === there.real)
    return "moved";
  requireMovable(from, stat);
  if (stat.isDirectory()) await judgeTree(context, { from, to }, here, there);
  else requireFilePlace(context, to, there);
  if (before && !overwrite) throw exists(to);
  if (before && (before.isDirectory() || stat.isDirectory()))
    throw conflict(
      "already_exists",
      to,
      "a folder is never replaced, nor does one replace a file",
      "remove it first, or use another path",
    );
  context.signal.throwIfAborted();
  await here.requireStillAllowed();
  await there.requireStillAllowed();
  try {
    await (before || stat.isDirectory()
      ? rename(here.reach, there.reach)
      : moveNew(to, here.reach, there.reach));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EXDEV") return "other device";
    throw cause;
  }
  return before ? "overwritten" : "moved";
}

/** Unlike rename, a link never replaces an entry that was created meanwhile. */
async function moveNew(to: string, from: string, target: string): Promise<void> {
  try {
    await link(from, target);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EEXIST") throw exists(to);
    if (code === "EPERM" || code === "ENOTSUP" || code === "EOPNOTSUPP")
      return rename(from, target);
    throw cause;
  }
  await unlink(from);
}

function requireMovable(given: string, stat: BigIntStats): void {
  if (!stat.isFile() && !stat.isDirectory() && !stat.isSymbolicLink())
    throw failed("not_a_file", given, "is a device, socket or pipe", "name a file or a directory");
}

async function judgeTree(
  context: FileContext,
  { from, to }: Pick<Wanted, "from" | "to">,
  here: FolderEntry,
  there: FolderEntry,
): Promise<void> {
  requireOutside(to, here.real, there.real);
  const { paths } = context;
  await walkTree(context, from, here.reach, {
    async before({ within, stat, reach }) {
      const [source, target] = [join(here.real, within), join(there.real, within)];
      if (!paths.allows(source, "write"))
        throw forbidden(
          from,
          `holds ${within}, which may not be moved`,
          "move the other entries one by one",
        );
      const planted =
        !stat.isDirectory() && paths.foldersOnly(target) && !paths.foldersOnly(source);
      if (planted || !paths.allows(target, "write"))
        throw forbidden(
          to,
          `${within} may not be put there`,
          "use another path; this rule has no exception",
        );
      if (stat.isDirectory() && (await isRepositoryAt(reach)))
        throw forbidden(
          from,
          `holds the git repository ${within}, which may not be moved`,
          "move the other entries one by one",
        );
    },
  });
}
