// The governance files, read and ready to be asked. Immutable: a change is a new one.
import { resolve, sep } from "node:path";
import { MODES, type Caller, type Mode } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import {
  hostsForCall,
  judgeArguments,
  judgeCommands,
  type ToolArguments,
} from "./arguments/index.ts";
import { match, programsOf } from "./arguments/programs.ts";
import { hostsOf, withinGrant, withinLimit } from "./arguments/urls.ts";
import { asWriterOf, escalator } from "./escalate.ts";
import type { GovernanceFiles } from "./files/files.ts";
import type { ApprovalRules, FileRules, Governance, ModeRule, PathRules } from "./governance.ts";
import { rulesOf, type RulesByMode } from "./mode-rules.ts";
import { resolvePathRules, type WorkspacePathRules } from "./path-rules.ts";
import type { PathVariables } from "./paths/regions.ts";
import type { PathRuleLists, ToolRules } from "./files/tools.ts";
import { taintRuleOf } from "./taint.ts";

export interface GovernanceOptions extends PathVariables {
  /** The caller's workspace. Default: `workspace` for all callers. */
  workspaceOf?(caller: Caller, sessionId: string | null): string;
  /**
   * The folder of this session that nobody else has, or of this user for calls without one; null when there is none.
   */
  scratchOf(caller: Caller, sessionId: string | null): string | null;
  /** Calls per minute of a caller whose plan names none, where the configuration sets it. */
  readonly defaultPerMinute?: number | null;
}

export function createGovernance(
  { tools, modes, plans }: GovernanceFiles,
  options: GovernanceOptions,
  version: string,
): Governance {
  const rulesByMode = new WeakMap<Tool, RulesByMode>();
  const argumentsOf = new WeakMap<Tool, ToolArguments>();
  const approvalsOf = new WeakMap<Tool, ApprovalRules>();
  const generalPathRules = pathRulesFor(tools.paths, options);

  const toolArguments = (tool: Tool): ToolArguments =>
    remember(argumentsOf, tool, () => {
      const own = tools.tools.get(tool.name);
      return {
        touches: [...tool.touches, ...(own?.touches ?? [])],
        programs: programsOf(tools.commands, own?.commands ?? null),
        hosts: hostsOf(tools.hosts, own?.hosts ?? null, tool.effects),
        maxReadBytes: own?.maxFileBytes ?? tools.sizes.read,
        maxWriteBytes: own?.maxFileBytes ?? tools.sizes.write,
        usualRule: (mode) => ruleIn(tool, mode),
        writingRule: (mode) => ruleIn(asWriter(tool), mode),
        pathRules:
          own && hasPaths(own)
            ? pathRulesFor(withOwn(tools.paths, own), options)
            : generalPathRules,
      };
    });
  const rules = { of: toolArguments };
  const generalHosts = hostsOf(tools.hosts, null, "network");
  const riskOf = (name: string) => tools.tools.get(name)?.risk ?? null;
  const asGoverned = escalator(riskOf);
  const asWriter = asWriterOf(riskOf);
  const { listEntries: maxListEntries, visitedEntries: maxVisitedEntries } = tools.sizes;

  function ruleIn(tool: Tool, mode: Mode): ModeRule {
    const known = remember(rulesByMode, tool, () => rulesOf(tool, tools));
    // A mode nobody knows is the strictest one.
    return (known as Partial<RulesByMode>)[mode] ?? known.LOCKDOWN;
  }

  return Object.freeze<Governance>({
    version,
    modeRule: ruleIn,
    describe: (mode) => modes.modes[mode].description,
    async filesFor({ tool, caller, sessionId }): Promise<FileRules> {
      const own = tool && toolArguments(tool);
      const pathRules = await (own?.pathRules ?? generalPathRules)({ caller, sessionId });
      return {
        pathRules,
        own: ownFolders(pathRules, options),
        maxReadBytes: (own?.maxReadBytes ?? tools.sizes.read).value,
        maxWriteBytes: (own?.maxWriteBytes ?? tools.sizes.write).value,
        maxListEntries,
        maxVisitedEntries,
      };
    },
    hostsFor({ tool, arguments: given, egress }) {
      const rules = tool ? hostsForCall(toolArguments(tool), given) : generalHosts;
      const granted = tool?.drafted ? withinGrant(rules, tool.drafted.hosts) : rules;
      return withinLimit(granted, egress);
    },
    isVariableDenied: (name) =>
      match(tools.commands.environment.denied, name.toUpperCase()) !== null,
    judgeArguments: (subject) => judgeArguments(subject, rules),
    judgeCommands: (subject) => judgeCommands(subject, rules),
    taintRule: (tool, taint) => taintRuleOf(tool, taint, tools.taint),
    minds: (reader) => tools.taint.of[reader].value !== "off",
    approvalRules: (tool) =>
      remember(approvalsOf, tool, () =>
        Object.freeze({ ...tools.approvals, ...tools.tools.get(tool.name)?.approvals }),
      ),
    asGoverned,
    limits: Object.freeze<Governance["limits"]>({
      ofPlan: (plan) =>
        plan === null
          ? (options.defaultPerMinute ?? plans.withoutPlan.callsPerMinute)
          : plans.plans[plan].callsPerMinute,
      explicitDefault: options.defaultPerMinute ?? null,
      ofCategory: (category) => tools.categories.get(category) ?? null,
      ofTool: toolLimits(tools.tools),
      ofMode: (mode) => modeLimit(mode),
      perIp: plans.perIp,
    }),
    budget: (plan, metric) =>
      (plan === null ? plans.withoutPlan : plans.plans[plan]).budgets[metric],
    lowWarning: plans.lowWarning,
    sensors: Object.freeze(modes.sensors),
    transitions: Object.freeze(modes.transitions),
  });

  function modeLimit(mode: Mode): number | null {
    return modes.modes[MODES.includes(mode) ? mode : "LOCKDOWN"].callsPerMinute;
  }
}

/** A file's word on a tool's window replaces the tool's own; `none` takes it away. */
function toolLimits(entries: ReadonlyMap<string, ToolRules>): Governance["limits"]["ofTool"] {
  const known = new WeakMap<Tool, { answer: ReturnType<Governance["limits"]["ofTool"]> }>();
  return (tool) =>
    remember(known, tool, () => {
      const own = entries.get(tool.name);
      const perHour = own?.perHour === undefined ? tool.rateLimitPerHour : own.perHour;
      return { answer: perHour === null ? null : { perHour, scope: own?.scope ?? "caller" } };
    }).answer;
}

function remember<T extends object>(known: WeakMap<Tool, T>, tool: Tool, make: () => T): T {
  let found = known.get(tool);
  if (found === undefined) known.set(tool, (found = make()));
  return found;
}

const hasPaths = ({ allowed, forbidden, unattended }: ToolRules): boolean =>
  allowed !== null || forbidden.length > 0 || unattended !== null;

function withOwn(general: PathRuleLists, own: ToolRules): PathRuleLists {
  return {
    allowed: own.allowed ?? general.allowed,
    forbidden: [...general.forbidden, ...own.forbidden],
    forbiddenForWriting: general.forbiddenForWriting,
    unattended: own.unattended ?? general.unattended,
  };
}

const MAX_SURVEYS = 1_000;

/** Surveys each workspace once, and again as long as it does not exist. */
function pathRulesFor(
  paths: PathRuleLists,
  options: GovernanceOptions,
): ToolArguments["pathRules"] {
  const surveys = new Map<string, Promise<WorkspacePathRules>>();
  return async ({ caller, sessionId }): Promise<PathRules> => {
    const workspace = options.workspaceOf?.(caller, sessionId) ?? options.workspace;
    let surveyed = surveys.get(workspace);
    if (!surveyed) {
      if (surveys.size >= MAX_SURVEYS) surveys.clear();
      surveys.set(workspace, (surveyed = resolvePathRules(paths, { ...options, workspace })));
    }
    const known = await surveyed;
    if (!known.lasting) surveys.delete(workspace);
    return known.within(options.scratchOf(caller, sessionId));
  };
}

/** The server makes the folders that it chose itself: below the data directory, or for one session. */
function ownFolders(
  { workspace, scratch }: PathRules,
  options: GovernanceOptions,
): readonly string[] {
  const chosen =
    workspace !== resolve(options.workspace) || workspace.startsWith(`${options.dataDir}${sep}`);
  return [...(chosen ? [workspace] : []), ...(scratch === null ? [] : [scratch])];
}
