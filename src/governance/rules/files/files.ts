// The three governance files as one checked whole: all faults at once, each with its place.
import { CATEGORIES, EFFECTS } from "../../../contract/tool.ts";
import type { DocumentFault } from "../governance.ts";
import { LOCKDOWN_AT_MOST, stricter } from "../mode-rules.ts";
import { readModes, type ModesFile } from "./modes.ts";
import { readPlans, type PlansFile } from "./plans.ts";
import { readTools, type Known, type KnownTool, type ToolsFile } from "./tools.ts";
import { readYaml, type YamlEntry } from "./yaml.ts";

export const FILE_NAMES = ["tools.yaml", "modes.yaml", "plans.yaml"] as const;

export interface GovernanceFiles {
  readonly tools: ToolsFile;
  readonly modes: ModesFile;
  readonly plans: PlansFile;
}

/** The names that rules may speak of, as they are at the moment. */
export interface KnownNames {
  /** Canonical names of all tools. */
  tools(): Iterable<string>;
  /** One of them by any of its names. */
  tool(name: string): KnownTool | null;
  /** Names of upstream servers: their tools may come and go, so only the server is checked. */
  servers(): Iterable<string>;
}

export function readGovernance(
  files: Readonly<Record<string, string>>,
  names: KnownNames,
): { files: GovernanceFiles; faults: readonly DocumentFault[] } {
  const faults: DocumentFault[] = [];
  for (const file of Object.keys(files)) {
    if (!FILE_NAMES.some((name) => name === file))
      faults.push({
        file,
        line: 1,
        column: 1,
        message: `governance has no file of this name; it has ${FILE_NAMES.join(", ")}`,
      });
  }
  const read = (file: (typeof FILE_NAMES)[number]): YamlEntry =>
    readYaml(file, files[file], faults);
  const whole = {
    tools: readTools(read("tools.yaml"), knownOf(names)),
    modes: readModes(read("modes.yaml")),
    plans: readPlans(read("plans.yaml")),
  };
  // What does not even read says little about how its parts go together.
  if (faults.length === 0) faults.push(...crossFaults(whole.tools));
  return { files: whole, faults };
}

function knownOf(names: KnownNames): Known {
  const tools = [...names.tools()];
  const servers = [...names.servers()];
  const categories = [...CATEGORIES, ...servers];
  return {
    tools,
    categories,
    tool: (name) => names.tool(name),
    isOfServer: (name) => servers.some((server) => name.startsWith(`${server}/`)),
    isCategory: (name) => categories.includes(name),
  };
}

/** What each line alone does not show. */
function crossFaults(tools: ToolsFile): DocumentFault[] {
  const faults: DocumentFault[] = [];
  const fault = (at: string, message: string): void => {
    const [file = "", line = "1"] = at.split(":");
    faults.push({ file, line: Number(line), column: 1, message });
  };
  for (const effects of EFFECTS) {
    for (const rules of [tools.classes[effects].modes, tools.classes[effects].dangerous]) {
      const rule = rules.LOCKDOWN;
      const most = LOCKDOWN_AT_MOST[effects];
      if (rule && stricter(rule.treatment, most) !== rule.treatment)
        fault(
          rule.rule.at,
          `classes.${effects}: in LOCKDOWN it may be ${most} at most, not ${rule.treatment}`,
        );
    }
  }
  if (tools.sizes.visitedEntries < tools.sizes.listEntries)
    fault(tools.at.sizes.at, "sizes: visited_entries is less than list_entries");
  const { expiresInSeconds, holdSeconds } = tools.approvals;
  if (holdSeconds > expiresInSeconds)
    fault(
      tools.at.approvals.at,
      `approvals: a door would hold for ${holdSeconds} s what expires after ${expiresInSeconds} s`,
    );
  for (const [name, tool] of tools.tools) {
    const own = { ...tools.approvals, ...tool.approvals };
    if (own.holdSeconds > own.expiresInSeconds)
      fault(
        tool.rule.at,
        `tools.${name}: a door would hold for ${own.holdSeconds} s what expires after ${own.expiresInSeconds} s`,
      );
  }
  // What protects the server itself must stay.
  for (const [list, variable] of [
    ["forbidden", "$DATA_DIR"],
    ["forbidden", "$CONFIG"],
    ["forbiddenForWriting", "$GOVERNANCE"],
  ] as const) {
    const stays = tools.paths[list].some(
      ({ value }) => value.replace(/\/(\*\*)?$/, "") === variable,
    );
    const key = list === "forbidden" ? "paths.forbidden" : "paths.forbidden_for_writing";
    if (!stays)
      fault(
        tools.at.paths.at,
        `${key} must hold ${variable}: no tool may reach what decides about it`,
      );
  }
  return faults;
}
