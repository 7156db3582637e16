// What a server's tools are called here, and who would be mistaken for whom.
import { createHash } from "node:crypto";
import type { ForeignDefinition } from "../../../storage/store/store.ts";
import { CATEGORIES } from "../../../contract/tool.ts";
import { PSEUDO_NAMES } from "./pseudo.ts";
import { reveal } from "../scan/hidden.ts";

export interface ToolNames {
  /** `server/tool`. */
  readonly name: string;
  readonly wireName: string;
  readonly aliases?: readonly string[];
}

const MAX_NAME = 64;
const SERVER = /^[a-z][a-z0-9_-]{0,31}$/;
const UPSTREAM = /^[A-Za-z0-9_./-]{1,128}$/;

/** Its tools stand beside those of the ten categories, so it cannot be called as one of them. */
export function isServerName(name: string): boolean {
  return SERVER.test(name) && !(CATEGORIES as readonly string[]).includes(name);
}

export function nameTool(
  server: string,
  { method, name }: Pick<ForeignDefinition, "method" | "name">,
): { readonly name: string; readonly wireName: string } | { readonly fault: string } {
  if (!isServerName(server))
    return {
      fault: `the server is called "${reveal(server)}": expected [a-z][a-z0-9_-]{0,31}, none of ${CATEGORIES.join(", ")}`,
    };
  const own = PSEUDO_NAMES[method];
  if (own !== undefined) return named(server, own, own);
  if (!UPSTREAM.test(name))
    return {
      fault: `its name is "${reveal(name.slice(0, 200), "all")}": expected 1 to 128 of A-Z a-z 0-9 _ - . /`,
    };
  const tool = name.replace(/[./]/g, "_");
  if (Object.values(PSEUDO_NAMES).includes(tool))
    return {
      fault: `its name is "${name}": ${tool} is reserved for what else a server can be asked`,
    };
  return named(server, tool, name);
}

function named(server: string, tool: string, upstream: string): { name: string; wireName: string } {
  const name = `${server}/${shortened(tool, upstream)}`;
  return { name, wireName: shortened(`${server}_${tool}`, `${server}/${upstream}`) };
}

/** Too long: the beginning, and a checksum of the whole, so that two long names stay apart. */
function shortened(text: string, whole: string): string {
  if (text.length <= MAX_NAME) return text;
  const sum = createHash("sha256").update(whole).digest("hex").slice(0, 8);
  return `${text.slice(0, MAX_NAME - sum.length - 1)}_${sum}`;
}

export interface Twin {
  readonly name: string;
  readonly why: string;
}

/** Names that are in use. A server may bring a thousand tools, so each is looked up, not compared with all others. */
export class TakenNames {
  readonly #names = new Set<string>();
  readonly #ways = [
    { formOf: (text: string) => text, why: (text: string) => `both are "${text}" on the wire` },
    { formOf: folded, why: () => "the names differ only in case, - and _" },
    { formOf: looksLike, why: () => "the names look alike" },
  ].map((way) => ({ ...way, takenBy: new Map<string, string[]>() }));

  constructor(names: Iterable<ToolNames>) {
    for (const named of names) this.add(named);
  }

  add(named: ToolNames): void {
    this.#names.add(named.name);
    for (const spelling of spellings(named))
      for (const { formOf, takenBy } of this.#ways) {
        const form = formOf(spelling);
        const owners = takenBy.get(form);
        if (owners) owners.push(named.name);
        else takenBy.set(form, [named.name]);
      }
  }

  /**
   * The one that a person, a client or a file system could take for this one: equal on the wire, equal but for case
   * or `-` and `_`, or made of letters that look alike. The second one is refused.
   */
  twinOf(mine: ToolNames): Twin | null {
    for (const { formOf, why, takenBy } of this.#ways)
      for (const spelling of spellings(mine)) {
        const other = takenBy.get(formOf(spelling))?.find((name) => name !== mine.name);
        if (other !== undefined) return { name: other, why: why(spelling) };
      }
    return null;
  }

  /** Those of the same server may be spoken of. */
  outside(server: string): string[] {
    return [...this.#names].filter((name) => !name.startsWith(`${server}/`));
  }
}

/** All on one alphabet, so that `a_b/c` and `a/b_c` meet. */
function spellings({ name, wireName, aliases = [] }: ToolNames): string[] {
  const all = [
    wireName,
    name.replace("/", "_"),
    ...aliases.map((alias) => alias.replace("/", "_")),
  ];
  return [...new Set(all)];
}

function folded(text: string): string {
  return text.toLowerCase().replaceAll("-", "_");
}

/** Before case is folded: a capital I looks like an l, a small i does not. */
function looksLike(text: string): string {
  return folded(text.replace(/[1I|]/g, "l").replace(/[0O]/g, "o"))
    .replaceAll("rn", "m")
    .replaceAll("vv", "w");
}
