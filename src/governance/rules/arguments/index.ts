// The argument rules: what a call wants to touch, judged one by one. A tool that touches nothing costs nothing.
import { lstat } from "node:fs/promises";
import type { Json, JsonObject, Mode } from "../../../contract/call.ts";
import type { CommandVerdict } from "../../../contract/effect.ts";
import type { Tool, Touch } from "../../../contract/tool.ts";
import { valueAt } from "../../../util/json/json.ts";
import { quote } from "../../../util/text/quote.ts";
import type { ArgumentFinding, ArgumentSubject, ModeRule, PathRules } from "../governance.ts";
import type { Ruled } from "../files/yaml.ts";
import { commandVerdicts, judgeArgv, judgeCommandLine, judgeEnvironment } from "./commands.ts";
import { asked, denied, waived, type Judging } from "./finding.ts";
import type { Programs } from "./programs.ts";
import { asAgreed, judgeNetwork } from "./network.ts";
import { type HostRulesOfTool, judgedHosts, judgeUrl, withinLimit } from "./urls.ts";

/** What the rules come to for one tool. */
export interface ToolArguments {
  readonly touches: readonly Touch[];
  readonly programs: Programs;
  readonly hosts: HostRulesOfTool;
  readonly maxReadBytes: Ruled<number>;
  readonly maxWriteBytes: Ruled<number>;
  /** What the mode says to a call of it. */
  usualRule(mode: Mode): ModeRule;
  /** The mode's decision for a call that writes content: never weaker than for any other writer. */
  writingRule(mode: Mode): ModeRule;
  pathRules(subject: Pick<ArgumentSubject, "caller" | "sessionId">): Promise<PathRules>;
}

interface ArgumentRules {
  of(tool: Tool): ToolArguments;
}

const NONE: readonly ArgumentFinding[] = Object.freeze([]);

export function judgeArguments(
  subject: ArgumentSubject,
  rules: ArgumentRules,
): readonly ArgumentFinding[] | Promise<readonly ArgumentFinding[]> {
  const tool = rules.of(subject.tool);
  if (tool.touches.length === 0) return NONE;
  const { egress } = subject;
  return judgeTouches(subject, egress ? { ...tool, hosts: withinLimit(tool.hosts, egress) } : tool);
}

async function judgeTouches(
  subject: ArgumentSubject,
  tool: ToolArguments,
): Promise<readonly ArgumentFinding[]> {
  const findings: ArgumentFinding[] = [];
  let surveyed: Promise<PathRules> | null = null;
  const pathRules = (): Promise<PathRules> => (surveyed ??= tool.pathRules(subject));
  let free = true;
  for (const touch of tool.touches) {
    for (const { at, value } of valuesAt(subject.arguments, touch)) {
      const from = touch.from === undefined ? undefined : valueAt(subject.arguments, touch.from);
      const judging = {
        subject,
        at,
        pathRules,
        findings,
        ...(typeof from === "string" ? { from } : {}),
      };
      free = (await judge(judging, touch, value, tool)) && free;
    }
  }
  // One thing that must be asked about is enough for the question.
  return free ? findings : findings.filter(({ kind }) => kind !== "waive");
}

/** What the rules say to each command that a call names; empty when it names none. Nothing is decided. */
export async function judgeCommands(
  subject: ArgumentSubject,
  rules: ArgumentRules,
): Promise<readonly CommandVerdict[]> {
  const { touches, programs, pathRules } = rules.of(subject.tool);
  const found: CommandVerdict[] = [];
  for (const touch of touches) {
    if (touch.kind !== "command" && touch.kind !== "argv") continue;
    for (const { at, value } of valuesAt(subject.arguments, touch)) {
      if (typeof value !== "string" && !isTexts(value)) continue;
      const from = touch.from === undefined ? undefined : valueAt(subject.arguments, touch.from);
      const judging = {
        subject,
        at,
        pathRules: () => pathRules(subject),
        ...(typeof from === "string" ? { from } : {}),
      };
      found.push(...(await commandVerdicts(judging, value, programs)));
    }
  }
  return found;
}

/** The rules for hosts of one call: those of its tool, and the hosts that the gate has judged. */
export function hostsForCall(tool: ToolArguments, given: JsonObject): HostRulesOfTool {
  const judged = judgedHosts(tool.hosts, tool.touches, (touch) => valuesAt(given, touch));
  const reachesOut = tool.touches.some(
    (touch) => touch.kind === "network" && valueAt(given, touch.argument) === true,
  );
  return { ...(reachesOut ? asAgreed(tool.hosts) : tool.hosts), judged };
}

/** False: this value does not let the question of the mode be waived. */
async function judge(j: Judging, touch: Touch, value: Json, tool: ToolArguments): Promise<boolean> {
  const { kind } = touch;
  if (kind === "text") return judgeText(j, value, tool);
  if (kind === "env" && isObject(value))
    return judgeEnvironment(j, Object.keys(value), tool.programs);
  if (kind === "network") return judgeNetwork(j, value, tool.hosts);
  if (kind === "argv" && isTexts(value)) return judgeArgv(j, value, tool.programs);
  if (kind === "env" || typeof value !== "string") {
    wrongType(j, kind, value);
    return false;
  }
  switch (kind) {
    case "path":
      return judgePath(j, touch, value, tool);
    case "argv":
    case "command":
      return judgeCommandLine(j, value, tool.programs);
    case "url":
      judgeUrl(j, value, tool.hosts);
      return false;
  }
}

async function judgePath(
  j: Judging,
  { access = "write", itself, makes }: Touch,
  value: string,
  tool: ToolArguments,
): Promise<boolean> {
  const pathRules = await j.pathRules();
  const found = await pathRules.locate(value, access, itself ? { itself } : {});
  if (!found.ok) {
    const { message, remedy: suggestion, rule } = found;
    const reason = found.reason === "path_not_found" ? "path_not_allowed" : found.reason;
    denied(j, { reason, value, message, suggestion, rule });
    return false;
  }
  if (access === "read") {
    const stat = await lstat(found.path).catch(() => null);
    const { maxReadBytes } = tool;
    if (stat?.isFile() && stat.size > maxReadBytes.value)
      tooLarge(j, found.shown, stat.size, maxReadBytes);
    return true;
  }
  const rule = pathRules.unattended(found.path);
  const { mode } = j.subject;
  if (!rule || mode !== "NORMAL") {
    if (makes !== "folder") judgeContent(j, found.shown, tool);
    return false;
  }
  if (j.subject.tool.effects !== "system_write") return false;
  const message = `${quote(found.shown)} may be written without asking`;
  waived(j, { reason: "unattended_path", value: found.shown, message, suggestion: "", rule });
  return true;
}

/** By where content goes, not by the name of the tool that brings it: copies and downloads overwrite like any other. */
function judgeContent(j: Judging, shown: string, tool: ToolArguments): void {
  const { mode } = j.subject;
  const { treatment, rule } = tool.writingRule(mode);
  // The mode has decided that already.
  if (treatment === "run" || tool.usualRule(mode).treatment !== "run") return;
  const details = { value: shown, suggestion: "write into $SCRATCH, which asks nobody", rule };
  if (treatment === "no")
    denied(j, {
      ...details,
      reason: "mode_forbids",
      message: `${quote(shown)} may not be written in mode ${mode}`,
    });
  else asked(j, { ...details, reason: "path_asks", message: `it writes ${quote(shown)}` });
}

function judgeText(j: Judging, value: Json, { maxWriteBytes }: ToolArguments): boolean {
  const bytes = Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
  if (bytes > maxWriteBytes.value) tooLarge(j, "the text", bytes, maxWriteBytes);
  return true;
}

function tooLarge(
  j: Judging,
  what: string,
  bytes: number,
  { value: limit, rule }: Ruled<number>,
): void {
  denied(j, {
    reason: "size_exceeded",
    value: `${bytes} bytes`,
    message: `${what} has ${bytes} bytes; at most ${limit} are allowed`,
    suggestion: "use something smaller, or take it in parts",
    rule,
  });
}

const REFUSED_AS = {
  path: { reason: "path_forbidden", expected: "text" },
  command: { reason: "command_forbidden", expected: "text" },
  argv: { reason: "command_forbidden", expected: "a list of texts" },
  env: { reason: "env_forbidden", expected: "an object of variables" },
  url: { reason: "egress_blocked", expected: "text" },
} as const;

function wrongType(j: Judging, kind: keyof typeof REFUSED_AS, value: Json): void {
  const { reason, expected } = REFUSED_AS[kind];
  denied(j, {
    reason,
    value: quote(JSON.stringify(value)),
    message: `expected ${expected}, got ${Array.isArray(value) ? "a list" : typeof value}`,
    suggestion: `give ${expected}`,
    rule: { at: "built in", text: "what cannot be judged is refused" },
  });
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isTexts = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** The values a touch speaks of, each with its JSON pointer. A list of texts is judged entry by entry, but for argv. */
function valuesAt(given: JsonObject, touch: Touch): { at: string; value: Json }[] {
  const found = valueAt(given, touch.argument) ?? touch.absentMeans;
  if (found === undefined) return [];
  if (touch.kind === "argv" || touch.kind === "text" || !Array.isArray(found))
    return [{ at: touch.argument, value: found }];
  return found.map((value: Json, index) => ({ at: `${touch.argument}/${index}`, value }));
}
