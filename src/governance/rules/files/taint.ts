// taint: what happens to calls of those who have read content from outside, where the tool writes, runs or sends.
import { CATEGORIES, EFFECTS, type Tool } from "../../../contract/tool.ts";
import { READERS, type TaintReader } from "../../../contract/taint.ts";
import type { RuleSource } from "../governance.ts";
import type { Known } from "./tools.ts";
import type { YamlEntry, Ruled } from "./yaml.ts";

const TREATMENTS = ["ask", "refuse", "off"] as const;
export type TaintTreatment = (typeof TREATMENTS)[number];

export interface TaintRules {
  readonly of: Readonly<Record<TaintReader, Ruled<TaintTreatment>>>;
  isExempt(tool: Pick<Tool, "name" | "category" | "effects">): boolean;
}

/** For files without the section, and for what it does not name. A typo must never loosen it. */
const DEFAULTS: Readonly<Record<TaintReader, TaintTreatment>> = {
  chat: "ask",
  agent: "ask",
  mcp: "off",
};

const builtIn = (reader: TaintReader): RuleSource => ({
  at: "built in",
  text: `taint: { ${reader}: ${DEFAULTS[reader]} }`,
});

export function readTaint(entry: YamlEntry | undefined, known: Known): TaintRules {
  const fields = entry?.fields([], [...READERS, "exempt"]) ?? {};
  const ruleFor = (reader: TaintReader): Ruled<TaintTreatment> => {
    const given = fields[reader];
    if (!given) return { value: DEFAULTS[reader], rule: builtIn(reader) };
    return { value: given.choice(TREATMENTS) ?? DEFAULTS[reader], rule: given.rule };
  };
  const exempt = new Set((fields.exempt?.items() ?? []).flatMap((item) => readExempt(item, known)));
  return {
    of: { chat: ruleFor("chat"), agent: ruleFor("agent"), mcp: ruleFor("mcp") },
    isExempt: ({ name, category, effects }) =>
      exempt.size > 0 && (exempt.has(name) || exempt.has(`${category}/*`) || exempt.has(effects)),
  };
}

/** A tool by any of its names, all of a category or server, or a class. */
function readExempt(item: YamlEntry, known: Known): readonly string[] {
  const given = item.text();
  if (given === undefined) return [];
  if ((EFFECTS as readonly string[]).includes(given)) return [given];
  const [, category] = /^([^/]+)\/\*$/.exec(given) ?? [];
  if (category !== undefined)
    return known.isCategory(category)
      ? [given]
      : (item.unknown("taint.exempt: there is no category", category, CATEGORIES) ?? []);
  const name = known.tool(given)?.name ?? (known.isOfServer(given) ? given : null);
  return name === null
    ? (item.unknown("taint.exempt: there is no tool", given, known.tools) ?? [])
    : [name];
}
