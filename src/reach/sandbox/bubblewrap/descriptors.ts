// Descriptors that the server has inherited would be passed on into every sandbox: Node closes inherited ones at a
// start of a program only as far as the first gap in their numbers.
import { closeSync, readdirSync, readFileSync } from "node:fs";

const CLOSE_ON_EXEC = 0o2000000;

/** Closes those that were inherited and would be passed on. What this process opened itself is never among it. */
export function closeInherited(): number[] {
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && isHandedOn(fd))
    .filter((fd) => {
      try {
        closeSync(fd);
        return true;
      } catch {
        return false;
      }
    });
}

function isHandedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // Gone since the list was read.
    return false;
  }
}
