// Which program a name leads to, and what the lists say about it.
import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Mode } from "../../../contract/call.ts";
import type { CommandOverride, CommandRules, RunLists } from "../files/commands.ts";
import type { RuleSource } from "../governance.ts";
import type { Ruled } from "../files/yaml.ts";
import type { Grammar } from "./grammar.ts";
import { GRAMMARS } from "./grammars.ts";

/** The general rules with those of one tool. */
export interface Programs {
  readonly rules: CommandRules;
  /** The line that refuses a program of this name. */
  deniedBy(name: string): RuleSource | null;
  /** The run list of a mode, if it has one. */
  listOf(mode: Mode): RunLists[Mode];
  /** On any run list: its operands name files. */
  isListed(name: string): boolean;
  /** The name under which a program stands on lists: plain, or in one of the folders of the fixed path; else null. */
  listName(given: string): string | null;
  /** How a program reads its arguments; null: unknown. */
  grammarOf(name: string): Grammar | null;
  /** The base name of the file that the name leads to; null when there is none. */
  realName(name: string): Promise<string | null>;
}

/** One file under many names that does what the name says, and reads arguments as the grammars do: busybox does not. */
const MULTI_CALL: ReadonlySet<string> = new Set(["coreutils"]);

export function programsOf(rules: CommandRules, override: CommandOverride | null): Programs {
  const deny = [...rules.deny, ...(override?.deny ?? [])];
  const lists = override?.run ?? rules.run;
  const folders = new Set(rules.path);
  return {
    rules,
    deniedBy: (name) => match(deny, name),
    listOf: (mode) => lists[mode],
    isListed: (name) => Object.values(lists).some((list) => list.names.has(name)),
    grammarOf: (name) => rules.grammars.get(name) ?? GRAMMARS.get(name) ?? null,
    listName(given) {
      if (!given.includes("/")) return given;
      return folders.has(dirname(given)) && join(dirname(given), basename(given)) === given
        ? basename(given)
        : null;
    },
    async realName(name) {
      for (const folder of rules.path) {
        const real = await realpath(join(folder, name)).catch(() => null);
        if (real !== null) return MULTI_CALL.has(basename(real)) ? name : basename(real);
      }
      return null;
    },
  };
}

/** The first pattern that fits: a name, or one with * at its start or end. */
export function match(patterns: readonly Ruled<string>[], name: string): RuleSource | null {
  const fits = (pattern: string): boolean => {
    const inner = pattern.replace(/^\*|\*$/g, "");
    if (pattern.startsWith("*")) return name.endsWith(inner);
    return pattern.endsWith("*") ? name.startsWith(inner) : name === pattern;
  };
  return patterns.find(({ value }) => fits(value))?.rule ?? null;
}
