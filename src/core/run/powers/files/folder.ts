import { open } from "node:fs/promises";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import { FOLDER_FLAGS } from "./descriptor.ts";
import { conflict } from "./fault.ts";
import { giveToOwner } from "./owner.ts";
import { locate, makeFolder, withEntry, type FileContext } from "./place.ts";

export const makeFolderWith =
  (context: FileContext): FilesPower["makeFolder"] =>
  async (path, { recursive }) => {
    const located = await locate(context, path, "write");
    if (context.paths.isRoot(located.path)) return { path: located.shown, created: false };
    return withEntry(
      context,
      path,
      located,
      { access: "write", make: recursive },
      async (entry) => {
        const there = await entry.look();
        if (there?.isDirectory()) return { path: located.shown, created: false };
        if (there)
          throw conflict(
            "already_exists",
            path,
            "a file is there",
            "use another path, or remove the file first",
          );
        const made = await context.inTurn(async () => {
          await entry.requireStillAllowed();
          return makeFolder(entry.reach);
        });
        if (!made) return makeFolderWith(context)(path, { recursive });
        const handle = await open(entry.reach, FOLDER_FLAGS);
        try {
          await giveToOwner(handle, entry.folder);
        } finally {
          await handle.close();
        }
        return { path: located.shown, created: true };
      },
    );
  };
