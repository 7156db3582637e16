import { open } from "node:fs/promises";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import { FOLDER_FLAGS } from "./descriptor.ts";
import { conflict } from "./fault.ts";
import { giveToOwner } from "./owner.ts";
import { locate, makeOne, withEntry, type Scene } from "./place.ts";

export const makeFolderWith =
  (scene: Scene): FilesPower["makeFolder"] =>
  async (path, { recursive }) => {
    const located = await locate(scene, path, "write");
    if (scene.area.isRoot(located.path)) return { path: located.shown, created: false };
    return withEntry(scene, path, located, { access: "write", make: recursive }, async (entry) => {
      const there = await entry.look();
      if (there?.isDirectory()) return { path: located.shown, created: false };
      if (there)
        throw conflict(
          "already_exists",
          path,
          "a file is there",
          "use another path, or remove the file first",
        );
      const made = await scene.inTurn(async () => {
        await entry.requireStillAllowed();
        return makeOne(entry.reach);
      });
      if (!made) return makeFolderWith(scene)(path, { recursive });
      const handle = await open(entry.reach, FOLDER_FLAGS);
      try {
        await giveToOwner(handle, entry.folder);
      } finally {
        await handle.close();
      }
      return { path: located.shown, created: true };
    });
  };
