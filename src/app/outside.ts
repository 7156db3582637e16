// Which paths lie outside of the workspace: what is read there was not made by those who work here.
import { isAbsolute, relative, resolve, sep } from "node:path";

export function outsideOf(workspace: string): (path: string) => boolean {
  const root = resolve(workspace);
  return (path) => {
    if (!isAbsolute(path)) return false;
    const inside = relative(root, path);
    return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  };
}
