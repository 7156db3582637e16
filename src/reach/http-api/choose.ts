// Which operations are taken: `getPet`, `tag:store`, `method:get`, `path:/admin`; `a+b` both, `!a` not. Any of them
// is enough.
import { nearest } from "../../util/text/nearest.ts";
import { refused } from "./document.ts";

export interface Choosable {
  readonly id: string;
  /** What it is called here, where that differs. */
  readonly name: string;
  readonly tags: readonly string[];
  readonly method: string;
  readonly path: string;
}

const KINDS = ["tag", "method", "path", "id"] as const;
const MAX_TERMS = 1_000;

/** The chosen operations, in the order of the document. A term that matches nothing is an error. */
export function chooseOperations<T extends Choosable>(
  all: readonly T[],
  terms: readonly string[],
): T[] {
  if (terms.length > MAX_TERMS)
    throw refused("/choose", `expected at most ${MAX_TERMS} terms`, "choose by tag or method");
  const wanted = terms.filter((term) => !term.startsWith("!"));
  const unwanted = terms.filter((term) => term.startsWith("!")).map((term) => term.slice(1));
  for (const term of [...wanted, ...unwanted]) requireSome(term, all);
  return all.filter(
    (one) =>
      (wanted.length === 0 || wanted.some((term) => fits(one, term))) &&
      !unwanted.some((term) => fits(one, term)),
  );
}

const fits = (one: Choosable, term: string): boolean =>
  term.split("+").every((part) => fitsPart(one, part));

function fitsPart({ id, name, tags, method, path }: Choosable, part: string): boolean {
  const [kind, value] = partsOf(part);
  if (kind === "tag") return tags.some((tag) => tag.toLowerCase() === value.toLowerCase());
  if (kind === "method") return method.toLowerCase() === value.toLowerCase();
  if (kind === "path")
    return path === value || path.startsWith(value.endsWith("/") ? value : `${value}/`);
  return id === value || name === value;
}

function partsOf(part: string): readonly [(typeof KINDS)[number], string] {
  const at = part.indexOf(":");
  const kind = KINDS.find((one) => one === part.slice(0, at));
  return kind === undefined ? ["id", part] : [kind, part.slice(at + 1)];
}

function requireSome(term: string, all: readonly Choosable[]): void {
  for (const part of term.split("+")) {
    if (all.some((one) => fitsPart(one, part))) continue;
    const [kind, value] = partsOf(part);
    const known = {
      id: all.map(({ name }) => name),
      tag: all.flatMap(({ tags }) => tags),
      method: all.map(({ method }) => method.toLowerCase()),
      path: all.map(({ path }) => path),
    }[kind];
    const close = nearest(value, [...new Set(known)]);
    const remedy =
      close === null
        ? `known: ${[...new Set(known)].slice(0, 20).join(", ") || "none"}`
        : `did you mean ${kind === "id" ? close : `${kind}:${close}`}?`;
    throw refused("/choose", `${JSON.stringify(part)} fits no operation`, remedy);
  }
}
