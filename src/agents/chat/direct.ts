// Without a model the person calls tools by hand: /tools, /tool name {…}, /explain name {…}. It answers in a model's
// place, so that calls take the same loop and the same gate.
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Generated, GenerateRequest } from "../../contract/powers/model.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Explanation } from "../../core/engine/explain.ts";

export interface DirectEngine {
  discover(caller: Caller): Promise<readonly Tool[]>;
  explain(
    caller: Caller,
    request: { readonly name: string; readonly arguments: JsonObject },
  ): Promise<Explanation | null>;
}

export const isCommand = (message: string): boolean => /^\/(tools?|explain|help)\b/.test(message);

const HELP =
  "/tools [words] lists your tools; /tool name {arguments} calls one; /explain name {arguments} says what would be decided, and why.";
const NO_MODEL =
  "No model is set up, so only commands work. Add one with `ostiary models add`, or under `models` in the settings.";

/** Answers the newest message, or renders what its call gave. */
export async function answerDirectly(
  request: Pick<GenerateRequest, "messages">,
  caller: Caller,
  engine: DirectEngine,
): Promise<Generated> {
  const last = request.messages.at(-1);
  if (last?.role === "tool") return replyOf(resultOf(last.content));
  const message = last?.content.trim() ?? "";
  const [, command = "", rest = ""] = /^\/(\w+)\s*([^]*)$/.exec(message) ?? [];
  if (command === "tools") return replyOf(tellTools(await engine.discover(caller), rest.trim()));
  if (command !== "tool" && command !== "explain")
    return replyOf(command === "help" ? HELP : `${NO_MODEL} ${HELP}`);
  const call = parseCall(rest);
  if (typeof call === "string") return replyOf(call);
  if (command === "tool") return { ...replyOf(""), calls: [{ id: "direct", ...call }] };
  return replyOf(explained(call.name, await engine.explain(caller, call)));
}

function parseCall(text: string): { name: string; arguments: JsonObject } | string {
  const [, name = "", json = ""] = /^(\S+)\s*([^]*)$/.exec(text.trim()) ?? [];
  if (name === "") return 'Expected the name of a tool, e.g. /tool system/echo {"text": "hello"}';
  try {
    const args: unknown = json === "" ? {} : JSON.parse(json);
    if (typeof args === "object" && args !== null && !Array.isArray(args))
      return { name, arguments: args as JsonObject };
  } catch {
    // Reported below.
  }
  return `The arguments after ${name} are not a JSON object. Write them as {"field": "value"}.`;
}

function explained(name: string, explanation: Explanation | null): string {
  if (!explanation) return `Tool '${name}' not found`;
  const lines = explanation.gates.map(({ stage, verdict, message, reason, rule, asks }) =>
    [stage, verdict, asks ?? message ?? reason ?? "", rule ? `(${rule})` : ""]
      .filter((part) => part !== "")
      .join("  "),
  );
  return [`${name}: ${explanation.verdict}`, ...lines].join("\n");
}

const MAX_LISTED = 200;

function tellTools(tools: readonly Tool[], words: string): string {
  const wanted = words.toLowerCase();
  const found = tools.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(wanted),
  );
  if (found.length === 0)
    return words === "" ? "You have no tools." : `No tool matches "${words}".`;
  const width = Math.max(...found.map(({ name }) => name.length));
  const lines = found
    .slice(0, MAX_LISTED)
    .map(({ name, description }) => `${name.padEnd(width)}  ${firstSentence(description)}`);
  const more = found.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

const firstSentence = (text: string): string => /^[^]*?\.(?=\s|$)/.exec(text)?.[0] ?? text;

/** What a tool gave, as a person reads it. */
function resultOf(content: string): string {
  let result: JsonObject;
  try {
    result = JSON.parse(content) as JsonObject;
  } catch {
    return content;
  }
  const { error, reason, remedy, output } = result;
  if (typeof error === "string") {
    const why = typeof reason === "string" ? ` (${reason})` : "";
    const hint = typeof remedy === "string" ? ` ${remedy}.` : "";
    return `Failed${why}: ${error}.${hint}`;
  }
  return typeof output === "string" ? output : JSON.stringify(output, null, 2);
}

const replyOf = (text: string): Generated => ({
  text,
  calls: [],
  model: "direct",
  finishReason: "stop",
  usage: { input: 0, output: 0 },
  cost: 0,
  attempts: [],
});
