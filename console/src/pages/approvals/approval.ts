// An approval as the pages show it: in plain words.
import type { Outputs } from "../../api/client.ts";

export type Listed = Outputs["approvals"]["listApprovals"]["items"][number];
export type Approval = Outputs["approvals"]["getApproval"];
export type Preview = Outputs["approvals"]["previewApproval"];
export type Effect = Preview["effect"];

type Arguments = Readonly<Record<string, unknown>>;

const word = (args: Arguments, name: string): string => {
  const value = args[name];
  return typeof value === "string" ? value : "…";
};
const host = (args: Arguments): string => {
  const url = word(args, "url");
  return URL.canParse(url) ? new URL(url).host : url;
};

/** What somebody wants to do, after "wants to". `object` is shown as code. */
interface Wish {
  readonly verb: string;
  readonly object: string;
  readonly rest?: string;
}

const WISHES: Readonly<Record<string, (args: Arguments) => Wish>> = {
  "file/write": (a) => ({
    verb: a["mode"] === "append" ? "add to" : a["mode"] === "create" ? "create" : "write",
    object: word(a, "path"),
  }),
  "file/edit": (a) => ({ verb: "change", object: word(a, "path") }),
  "file/delete": (a) => ({
    verb: a["recursive"] === true ? "delete everything in" : "delete",
    object: word(a, "path"),
  }),
  "file/move": (a) => ({ verb: "move", object: `${word(a, "from")} → ${word(a, "to")}` }),
  "file/copy": (a) => ({ verb: "copy", object: `${word(a, "from")} → ${word(a, "to")}` }),
  "file/mkdir": (a) => ({ verb: "create the folder", object: word(a, "path") }),
  "shell/exec": (a) => ({ verb: "run", object: commandOf(a) }),
  "shell/script": (a) => ({ verb: "run the script", object: word(a, "script") }),
  "shell/python": (a) => ({ verb: "run the Python script", object: word(a, "script") }),
  "database/delete": (a) => ({ verb: "delete rows of", object: word(a, "table") }),
  "database/update": (a) => ({ verb: "change rows of", object: word(a, "table") }),
  "database/insert": (a) => ({ verb: "add rows to", object: word(a, "table") }),
  "web/post": (a) => ({ verb: "send data to", object: host(a) }),
  "web/put": (a) => ({ verb: "send data to", object: host(a) }),
  "web/delete": (a) => ({ verb: "delete something at", object: host(a) }),
  "agent/spawn": () => ({ verb: "start", object: "another agent" }),
  "memory/clear": () => ({ verb: "clear", object: "its memory" }),
};

/** As one would type it: what is no plain word stands in quotes. */
function commandOf(args: Arguments): string {
  const { command } = args;
  if (!Array.isArray(command)) return word(args, "command");
  return command
    .map((part) => (/^[\w@%+=:,./-]+$/.test(String(part)) ? String(part) : JSON.stringify(part)))
    .join(" ");
}

const LONGEST = 140;

export function wishOf(toolName: string, args: Arguments, effect?: Effect): Wish {
  const wish = WISHES[toolName]?.(args) ?? { verb: "call", object: toolName };
  const [line = "", ...more] = wish.object.split("\n");
  const isCut = more.length > 0 || line.length > LONGEST;
  return {
    ...wish,
    verb: verbAfter(wish.verb, effect),
    object: isCut ? `${line.slice(0, LONGEST)} …` : line,
  };
}

/** The preview knows whether the file is there. */
function verbAfter(verb: string, effect: Effect | undefined): string {
  if (verb !== "write" || effect?.kind !== "files") return verb;
  const [first] = effect.changes;
  if (first?.change === "created") return "create";
  return first?.change === "changed" ? "overwrite" : verb;
}

export const sentenceOf = (
  { requester, toolName }: Pick<Listed, "requester" | "toolName">,
  args: Arguments,
): string => {
  const { verb, object } = wishOf(toolName, args);
  return `${requester} wants to ${verb} ${object}`;
};

/** What would run: the edited ones where somebody edited. */
export const argumentsOf = (row: Pick<Listed, "arguments" | "editedArguments">): Arguments =>
  row.editedArguments ?? row.arguments;

export const votesFor = ({ votes }: Pick<Listed, "votes">): number =>
  votes.filter(({ decision }) => decision === "approve").length;
