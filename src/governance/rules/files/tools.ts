// tools.yaml: the rule per class and mode, overrides per tool, and the rules for paths, commands, hosts and sizes.
import { MODES, type Mode } from "../../../contract/call.ts";
import {
  EFFECTS,
  RISK_WORDS,
  riskOf,
  type Effects,
  type Risk,
  type Touch,
} from "../../../contract/tool.ts";
import {
  readCommands,
  type CommandRules,
  type CommandOverride,
  readCommandOverride,
} from "./commands.ts";
import { readHosts, readHostOverride, type HostOverride, type HostRules } from "./hosts.ts";
import { SELF_RULES, type ApprovalRules, type ModeRule, type RuleSource } from "../governance.ts";
import { patternFault } from "../patterns.ts";
import { readTaint, type TaintRules } from "./taint.ts";
import type { YamlEntry, Ruled } from "./yaml.ts";

const TREATMENTS = ["run", "approval", "no"] as const;
const SCOPES = ["caller", "tenant", "global"] as const;
const DAY_SECONDS = 86_400;
const MAX_MB = 1_024;
const BYTES_PER_MB = 1_048_576;
const MAX_PER_HOUR = 10_000_000;

/** The rule for each mode; a mode that is not named forbids. */
export type ModeRules = Readonly<Partial<Record<Mode, ModeRule>>>;

export interface ClassRules {
  readonly rule: RuleSource;
  readonly modes: ModeRules;
  /** For dangerous tools of the class, where named. */
  readonly dangerous: ModeRules;
}

export interface PathRuleLists {
  readonly allowed: readonly Ruled<string>[];
  readonly forbidden: readonly Ruled<string>[];
  readonly forbiddenForWriting: readonly Ruled<string>[];
  readonly unattended: readonly Ruled<string>[];
}

export interface SizeRules {
  readonly read: Ruled<number>;
  readonly write: Ruled<number>;
  readonly listEntries: number;
  readonly visitedEntries: number;
}

/** What permits replaces the general rule, what forbids adds to it. */
export interface ToolRules {
  readonly rule: RuleSource;
  /** Replaces the tool's own. */
  readonly risk: Risk | null;
  readonly modes: ModeRules | null;
  readonly perHour: number | null | undefined;
  readonly scope: (typeof SCOPES)[number];
  readonly approvals: Partial<ApprovalRules>;
  readonly allowed: readonly Ruled<string>[] | null;
  readonly forbidden: readonly Ruled<string>[];
  readonly unattended: readonly Ruled<string>[] | null;
  readonly maxFileBytes: Ruled<number> | null;
  readonly commands: CommandOverride | null;
  readonly hosts: HostOverride | null;
  readonly touches: readonly Touch[];
}

export interface ToolsFile {
  readonly classes: Readonly<Record<Effects, ClassRules>>;
  readonly tools: ReadonlyMap<string, ToolRules>;
  readonly approvals: ApprovalRules;
  readonly categories: ReadonlyMap<string, number | null>;
  readonly paths: PathRuleLists;
  readonly commands: CommandRules;
  readonly hosts: HostRules;
  readonly sizes: SizeRules;
  readonly taint: TaintRules;
  /** Where the sections begin. */
  readonly at: {
    readonly approvals: RuleSource;
    readonly paths: RuleSource;
    readonly sizes: RuleSource;
  };
}

/** A tool that rules may speak of. */
export interface KnownTool {
  readonly name: string;
  readonly effects: Effects;
}

/** Which names may be governed: a tool that nobody knows is a fault. */
export interface Known {
  /** By any of its names. */
  tool(name: string): KnownTool | null;
  /** Tools of other servers come and go: only the server is looked at. */
  isOfServer(name: string): boolean;
  isCategory(name: string): boolean;
  readonly tools: readonly string[];
  readonly categories: readonly string[];
}

export function readTools(file: YamlEntry, known: Known): ToolsFile {
  const fields = file.fields(
    ["classes", "tools", "approvals", "categories", "paths", "commands", "hosts", "sizes"],
    // Files that were written before there was such a section do not name it: then the defaults hold.
    ["taint"],
  );
  const classes = fields.classes.fields(EFFECTS);
  const commands = readCommands(fields.commands);
  return {
    classes: Object.fromEntries(
      EFFECTS.map((name) => [name, readClass(classes[name])]),
    ) as ToolsFile["classes"],
    tools: readToolEntries(fields.tools, known, commands),
    approvals: readApprovals(fields.approvals),
    categories: readCategories(fields.categories, known),
    paths: readPaths(fields.paths),
    commands,
    hosts: readHosts(fields.hosts),
    sizes: readSizes(fields.sizes),
    taint: readTaint(fields.taint, known),
    at: { approvals: fields.approvals.rule, paths: fields.paths.rule, sizes: fields.sizes.rule },
  };
}

function readClass(entry: YamlEntry): ClassRules {
  const { dangerous, ...modes } = entry.fields([], [...MODES, "dangerous"]);
  return {
    rule: entry.rule,
    modes: modeRules(modes),
    dangerous: dangerous ? modeRules(dangerous.fields([], MODES)) : {},
  };
}

function modeRules(entries: Partial<Record<Mode, YamlEntry>>): ModeRules {
  return Object.fromEntries(
    Object.entries(entries).map(([mode, entry]) => [
      mode,
      { treatment: entry.choice(TREATMENTS) ?? "no", rule: entry.rule },
    ]),
  );
}

function readToolEntries(
  entry: YamlEntry,
  known: Known,
  commands: CommandRules,
): Map<string, ToolRules> {
  const tools = new Map<string, ToolRules>();
  for (const [given, tool] of entry.entries()) {
    const found = known.tool(given);
    const name = found?.name ?? given;
    if (!found && !known.isOfServer(given))
      tool.unknown("tools: there is no tool", given, known.tools);
    if (tools.has(name)) tool.fault(`there is an entry for ${name} already`);
    tools.set(name, readTool(tool, found, commands));
  }
  return tools;
}

const TOOL_KEYS = [
  "category",
  "risk",
  "modes",
  "allowed_in_modes",
  "requires_approval_in_modes",
  "forbidden_in_modes",
  "rate_limit_per_hour",
  "rate_limit_scope",
  "approvals",
  "allowed_paths",
  "forbidden_paths",
  "unattended_paths",
  "max_file_size_mb",
  "commands",
  "hosts",
  "touches",
] as const;

function readTool(entry: YamlEntry, tool: KnownTool | null, commands: CommandRules): ToolRules {
  const fields = entry.fields([], TOOL_KEYS);
  if (fields.category) checkClass(fields.category, tool);
  if (fields.rate_limit_scope && !fields.rate_limit_per_hour)
    fields.rate_limit_scope.fault("needs rate_limit_per_hour beside it");
  const size = fields.max_file_size_mb;
  const risk = fields.risk?.choice(RISK_WORDS);
  return {
    rule: entry.rule,
    risk: risk === undefined ? null : riskOf(risk),
    modes: toolModes(fields),
    perHour: fields.rate_limit_per_hour?.limit(MAX_PER_HOUR),
    scope: fields.rate_limit_scope?.choice(SCOPES) ?? "caller",
    approvals: fields.approvals ? approvalRules(fields.approvals.fields([], APPROVAL_KEYS)) : {},
    allowed: fields.allowed_paths ? patterns(fields.allowed_paths) : null,
    forbidden: fields.forbidden_paths ? patterns(fields.forbidden_paths) : [],
    unattended: fields.unattended_paths ? patterns(fields.unattended_paths) : null,
    maxFileBytes: size ? { value: bytesOf(size), rule: size.rule } : null,
    commands: fields.commands ? readCommandOverride(fields.commands, commands) : null,
    hosts: fields.hosts ? readHostOverride(fields.hosts) : null,
    touches: (fields.touches?.items() ?? []).map(readTouch),
  };
}

/** Nobody can make a tool another one by writing so: the key says what the tool is, or it is a mistake. */
function checkClass(entry: YamlEntry, tool: KnownTool | null): void {
  const given = entry.choice(EFFECTS);
  if (given === undefined || tool === null || given === tool.effects) return;
  entry.fault(`${tool.name} is of the class ${tool.effects}; leave the key out`);
}

/** Later ones beat earlier ones: forbidden beats approval, approval beats allowed. */
const MODE_LISTS = {
  allowed_in_modes: "run",
  requires_approval_in_modes: "approval",
  forbidden_in_modes: "no",
} as const;

type ModeKeys = "modes" | keyof typeof MODE_LISTS;

/** One rule per mode, from `modes` or from the lists; null: the tool's entry says nothing of modes. */
function toolModes(fields: Partial<Record<ModeKeys, YamlEntry>>): ModeRules | null {
  if (fields.modes) {
    for (const key of Object.keys(MODE_LISTS) as (keyof typeof MODE_LISTS)[])
      fields[key]?.fault("takes modes or the lists of modes, not both");
    return modeRules(fields.modes.fields([], MODES));
  }
  let rules: Partial<Record<Mode, ModeRule>> | null = null;
  for (const key of Object.keys(MODE_LISTS) as (keyof typeof MODE_LISTS)[]) {
    const list = fields[key];
    if (!list) continue;
    rules ??= {};
    for (const item of list.items()) {
      const mode = item.choice(MODES);
      if (mode !== undefined) rules[mode] = { treatment: MODE_LISTS[key], rule: item.rule };
    }
  }
  return rules;
}

function readTouch(entry: YamlEntry): Touch {
  const fields = entry.fields(["argument", "kind"], ["access", "absent_means"]);
  const argument = fields.argument.text() ?? "/";
  if (!argument.startsWith("/"))
    fields.argument.fault(`expected a JSON pointer such as /path, got ${JSON.stringify(argument)}`);
  const kind =
    fields.kind.choice(["path", "command", "argv", "url", "text", "env", "network"]) ?? "text";
  if (fields.access && kind !== "path") fields.access.fault("only a path has it");
  // A missing value counts as the more dangerous of the two.
  const access = fields.access?.choice(["read", "write"]) ?? "write";
  const absentMeans = fields.absent_means?.text();
  return {
    argument,
    kind,
    ...(kind === "path" ? { access } : {}),
    ...(absentMeans === undefined ? {} : { absentMeans }),
  };
}

const APPROVAL_NUMBERS = ["expires_in_seconds", "approvals", "hold_seconds"] as const;
const APPROVAL_KEYS = [...APPROVAL_NUMBERS, "self"] as const;

function readApprovals(entry: YamlEntry): ApprovalRules {
  const read = approvalRules(entry.fields(APPROVAL_NUMBERS, ["self"]));
  return { expiresInSeconds: 1, approvals: 1, holdSeconds: 0, ...read };
}

function approvalRules(
  fields: Partial<Record<(typeof APPROVAL_KEYS)[number], YamlEntry>>,
): Partial<ApprovalRules> {
  const expiresInSeconds = fields.expires_in_seconds?.whole(1, 7 * DAY_SECONDS);
  const approvals = fields.approvals?.whole(1, 20);
  const holdSeconds = fields.hold_seconds?.whole(0, 300);
  const self = fields.self?.choice(SELF_RULES);
  return {
    ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    ...(approvals === undefined ? {} : { approvals }),
    ...(holdSeconds === undefined ? {} : { holdSeconds }),
    ...(self === undefined ? {} : { self }),
  };
}

function readCategories(entry: YamlEntry, known: Known): Map<string, number | null> {
  const categories = new Map<string, number | null>();
  for (const [name, category] of entry.entries()) {
    if (!known.isCategory(name))
      category.unknown("categories: there is no category", name, known.categories);
    const { calls_per_minute } = category.fields(["calls_per_minute"]);
    categories.set(name, calls_per_minute.limit(1_000_000) ?? null);
  }
  return categories;
}

function readPaths(entry: YamlEntry): PathRuleLists {
  const fields = entry.fields(["allowed", "forbidden", "forbidden_for_writing", "unattended"]);
  return {
    allowed: patterns(fields.allowed),
    forbidden: patterns(fields.forbidden),
    forbiddenForWriting: patterns(fields.forbidden_for_writing),
    unattended: patterns(fields.unattended),
  };
}

function patterns(entry: YamlEntry): Ruled<string>[] {
  return entry.items().flatMap((item) => {
    const value = item.text();
    if (value === undefined) return [];
    const wrong = patternFault(value);
    if (wrong !== null) return item.fault(wrong) ?? [];
    return [{ value, rule: item.rule }];
  });
}

function readSizes(entry: YamlEntry): SizeRules {
  const fields = entry.fields(["read_mb", "write_mb", "list_entries", "visited_entries"]);
  return {
    read: { value: bytesOf(fields.read_mb), rule: fields.read_mb.rule },
    write: { value: bytesOf(fields.write_mb), rule: fields.write_mb.rule },
    listEntries: fields.list_entries.whole(1, 1_000_000) ?? 1,
    visitedEntries: fields.visited_entries.whole(1, 10_000_000) ?? 1,
  };
}

function bytesOf(entry: YamlEntry): number {
  return Math.floor((entry.number(0.001, MAX_MB) ?? 0) * BYTES_PER_MB);
}
