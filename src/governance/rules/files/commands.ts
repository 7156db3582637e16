// The section `commands` of tools.yaml: which programs run without asking, which never run, and what gives them away.
import { MODES, type Mode } from "../../../contract/call.ts";
import { grammarOf, type Grammar } from "../arguments/grammar.ts";
import type { RuleSource } from "../governance.ts";
import type { YamlEntry, Ruled } from "./yaml.ts";

/** Programs that run without asking, by mode. The rule is the mode's line. */
export type RunLists = Readonly<
  Partial<Record<Mode, { names: ReadonlySet<string>; rule: RuleSource }>>
>;

export interface CommandRules {
  readonly rule: RuleSource;
  /** Folders in which programs are looked for, in this order. */
  readonly path: readonly string[];
  readonly run: RunLists;
  /** Never without approval: may not stand on a run list. */
  readonly ask: ReadonlyMap<string, RuleSource>;
  /** Refused without appeal; `mkfs.*` covers all that start so. */
  readonly deny: readonly Ruled<string>[];
  /** Programs that start other programs: their arguments are searched for denied ones. */
  readonly starters: ReadonlySet<string>;
  /** Programs, besides the listed ones, whose operands name files: a forbidden one is refused. */
  readonly fileOperands: ReadonlySet<string>;
  readonly deniedOptions: ReadonlyMap<string, readonly Ruled<string>[]>;
  /** Most operands a listed program takes without asking. */
  readonly maxOperands: ReadonlyMap<string, number>;
  /** How programs read their arguments, as an administrator defines it; common programs are known anyway. */
  readonly grammars: ReadonlyMap<string, Grammar>;
  readonly environment: {
    readonly denied: readonly Ruled<string>[];
    readonly free: readonly Ruled<string>[];
  };
}

export interface CommandOverride {
  readonly run: RunLists | null;
  readonly deny: readonly Ruled<string>[];
}

const NAME = /^[A-Za-z0-9_.+-]+\*?$/;
const VARIABLE = /^\*?[A-Za-z_][A-Za-z0-9_]*\*?$/;

export function readCommands(entry: YamlEntry): CommandRules {
  const fields = entry.fields(
    [
      "path",
      "run",
      "ask",
      "deny",
      "starters",
      "file_operands",
      "denied_options",
      "max_operands",
      "environment",
    ],
    ["grammar"],
  );
  const environment = fields.environment.fields(["denied", "free"]);
  const rules = {
    rule: entry.rule,
    path: fields.path.texts().map(({ value }) => value),
    ask: new Map(names(fields.ask).map(({ value, rule }) => [value, rule])),
    deny: names(fields.deny),
    starters: new Set(names(fields.starters).map(({ value }) => value)),
    fileOperands: new Set(names(fields.file_operands).map(({ value }) => value)),
    deniedOptions: new Map(
      fields.denied_options.entries().map(([name, list]) => [name, options(list)]),
    ),
    maxOperands: new Map(
      fields.max_operands.entries().map(([name, most]) => [name, most.whole(0, 1_000) ?? 0]),
    ),
    grammars: new Map(fields.grammar?.entries().map(([name, one]) => [name, readGrammar(one)])),
    environment: { denied: variables(environment.denied), free: variables(environment.free) },
  };
  for (const item of fields.path.items()) {
    const folder = item.text();
    if (folder !== undefined && !folder.startsWith("/"))
      item.fault(`expected an absolute folder, got ${JSON.stringify(folder)}`);
  }
  return { ...rules, run: readRun(fields.run, rules) };
}

export function readCommandOverride(entry: YamlEntry, general: CommandRules): CommandOverride {
  const fields = entry.fields([], ["run", "deny"]);
  const deny = fields.deny ? names(fields.deny) : [];
  return { run: fields.run ? readRun(fields.run, general) : null, deny };
}

const OPTIONS = /^\s*(?:(?:-[A-Za-z0-9.]+|--[A-Za-z0-9][A-Za-z0-9-]*)(?:\s+|$))*$/;

function readGrammar(entry: YamlEntry): Grammar {
  const fields = entry.fields([], ["flags", "values", "optional", "operands"]);
  const list = (one: YamlEntry | undefined): string => {
    const text = one?.text() ?? "";
    if (!OPTIONS.test(text))
      one?.fault(`expected options such as "-ab --all", got ${JSON.stringify(text)}`);
    return text;
  };
  const operands = fields.operands?.whole(0, 1_000);
  return grammarOf({
    flags: list(fields.flags),
    values: list(fields.values),
    optional: list(fields.optional),
    ...(operands === undefined ? {} : { operands }),
  });
}

function readRun(entry: YamlEntry, { ask, deny }: Pick<CommandRules, "ask" | "deny">): RunLists {
  const lists = Object.entries(entry.fields([], MODES)).map(([mode, list]) => {
    for (const item of list.items()) {
      const name = item.text() ?? "";
      const because = ask.get(name)?.at ?? deny.find(({ value }) => value === name)?.rule.at;
      if (because !== undefined)
        item.fault(
          `${name} can start or fetch anything and is listed at ${because}; it cannot run without asking`,
        );
      if (name.includes("*")) item.fault(`${JSON.stringify(name)}: name each program`);
    }
    const rule = list.rule;
    return [mode, { names: new Set(names(list).map(({ value }) => value)), rule }] as const;
  });
  return Object.fromEntries(lists);
}

const names = (entry: YamlEntry): Ruled<string>[] =>
  matching(entry, NAME, "the name of a program, without a folder");
const variables = (entry: YamlEntry): Ruled<string>[] =>
  matching(entry, VARIABLE, "the name of a variable, * at its start or end");
const options = (entry: YamlEntry): Ruled<string>[] =>
  matching(
    entry,
    /^(-[A-Za-z0-9]|--[A-Za-z0-9][A-Za-z0-9-]*)$/,
    "an option such as -o or --output",
  );

function matching(entry: YamlEntry, form: RegExp, expected: string): Ruled<string>[] {
  return entry.items().flatMap((item) => {
    const value = item.text();
    if (value === undefined) return [];
    if (!form.test(value))
      return item.fault(`expected ${expected}, got ${JSON.stringify(value)}`) ?? [];
    return [{ value, rule: item.rule }];
  });
}
