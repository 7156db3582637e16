// Whether something failed because a resource is used up, and which one.

/** Of the machine: disk, memory, open files. `call_memory`: a call reached the memory that one call may have. */
export const RESOURCES = ["disk", "memory", "files", "call_memory"] as const;
export type Resource = (typeof RESOURCES)[number];

/** Codes of the system, of Node, and of PostgreSQL. */
const BY_CODE: Readonly<Record<string, Resource>> = {
  ENOSPC: "disk",
  EDQUOT: "disk",
  "53100": "disk",
  ENOMEM: "memory",
  ERR_MEMORY_ALLOCATION_FAILED: "memory",
  "53200": "memory",
  EMFILE: "files",
  ENFILE: "files",
  ERR_WORKER_OUT_OF_MEMORY: "call_memory",
};
/** Primary result codes of SQLite: FULL and NOMEM. */
const BY_SQLITE: Readonly<Record<number, Resource>> = { 13: "disk", 7: "memory" };

/** The cause of an error whose own cause is not at hand: it happened in another process. */
export class Exhausted extends Error {
  readonly resource: Resource;
  constructor(resource: Resource) {
    super(`exhausted: ${resource}`);
    this.resource = resource;
  }
}

/** How far the chain of causes is followed. */
const MAX_CAUSES = 5;

export function exhaustedBy(cause: unknown): Resource | null {
  let at: unknown = cause;
  for (let depth = 0; depth < MAX_CAUSES && at instanceof Error; depth++, at = at.cause) {
    if (at instanceof Exhausted) return at.resource;
    const { code, errcode } = at as { code?: unknown; errcode?: unknown };
    const found =
      (typeof code === "string" ? BY_CODE[code] : undefined) ??
      (typeof errcode === "number" ? BY_SQLITE[errcode & 0xff] : undefined);
    if (found) return found;
    // V8 gives this one no code.
    if (at instanceof RangeError && at.message === "Array buffer allocation failed")
      return "memory";
  }
  return null;
}
