// Taint: an agent that has read content from outside may act on what stands in it. Its calls carry where that content
// came from, and governance says which tools then ask a person or are refused.
import type { Json, JsonObject, Outcome } from "./call.ts";
import type { Tool } from "./tool.ts";

/** Content from outside that came with one call. */
export interface TaintSource {
  readonly tool: string;
  readonly executionId: string;
  /** Host, server or file. */
  readonly from: string;
}

export const READERS = ["chat", "agent", "mcp"] as const;
/** Who has read it: a chat, a spawned agent, or the client of an MCP session. Governance has a rule for each. */
export type TaintReader = (typeof READERS)[number];

/** A source as a call carries it. */
export interface Taint extends TaintSource {
  readonly reader: TaintReader;
}

const MAX_SOURCES = 20;
const MAX_FROM = 200;
const SHOWN_SOURCES = 5;

/** The same origin once; the oldest of too many go, and what is left taints all the same. */
export function withSource<T extends TaintSource>(known: readonly T[], source: T): readonly T[] {
  if (known.some(({ from, tool }) => from === source.from && tool === source.tool)) return known;
  return [...known, source].slice(-MAX_SOURCES);
}

export const readBy = (reader: TaintReader, sources: readonly TaintSource[]): readonly Taint[] =>
  sources.map(({ tool, executionId, from }) => ({ tool, executionId, from, reader }));

/** What a call inherits and what its maker has read itself. */
export const joinTaint = (one: readonly Taint[], other: readonly Taint[]): readonly Taint[] =>
  other.reduce((all, taint) => (isAmong(taint, all) ? all : [...all, taint]), one);

const isAmong = ({ from, tool, reader }: Taint, all: readonly Taint[]): boolean =>
  all.some((one) => one.from === from && one.tool === tool && one.reader === reader);

/**
 * As the metadata of an opened call and of its record contain it. The engine writes it there and drops what a client
 * claims, so it can be trusted.
 */
export function taintIn(metadata: JsonObject | null): readonly Taint[] {
  return sourcesIn(metadata?.["taint"]).flatMap((source) => {
    const reader = READERS.find((one) => one === source.reader);
    return reader === undefined ? [] : [{ ...source, reader }];
  });
}

function sourcesIn(value: Json | undefined): (TaintSource & { readonly reader: Json })[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly Json[]).flatMap((one) => {
    if (typeof one !== "object" || one === null || Array.isArray(one)) return [];
    const { tool, executionId, from, reader = null } = one as JsonObject;
    if (typeof tool !== "string" || typeof executionId !== "string" || typeof from !== "string")
      return [];
    return [{ tool, executionId, from: from.slice(0, MAX_FROM), reader }];
  });
}

/** The sources in one sentence; null without any. */
export function taintText(sources: readonly Pick<TaintSource, "tool" | "from">[]): string | null {
  if (sources.length === 0) return null;
  const named = sources.slice(-SHOWN_SOURCES).map(({ from, tool }) => `${from} (${tool})`);
  const more = sources.length - named.length;
  return `The agent has read content from ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/**
 * Content from outside that this outcome brings into a conversation: what upstream servers, the web or a browser
 * answered, files outside the workspace, and what inner calls brought.
 */
export function sourcesOf(
  outcome: Outcome,
  tool: Tool | null,
  isOutside: (path: string) => boolean,
): readonly TaintSource[] {
  if (!tool || !outcome.dispatched) return [];
  const inner = sourcesIn(outcome.metadata["taint"]).map(
    ({ reader: _reader, ...source }) => source,
  );
  const isSilent = outcome.error !== null && outcome.output === null;
  // The error texts of an upstream server are its own words, too.
  const from = isSilent && !tool.route ? null : originOf(outcome, tool, isOutside);
  if (from === null) return inner;
  const { executionId } = outcome;
  return [...inner, { tool: tool.name, executionId, from: from.slice(0, MAX_FROM) }];
}

function originOf(
  { metadata }: Outcome,
  tool: Tool,
  isOutside: (path: string) => boolean,
): string | null {
  if (tool.route) return `server ${tool.route.server}`;
  const hosts = texts(metadata["hosts"]);
  if (hosts.length > 0) return hosts.slice(0, 3).join(", ");
  if (tool.category === "web" || tool.category === "browser") return tool.category;
  if (tool.openWorld && tool.provider !== "native") return tool.name;
  return texts(metadata["filesTouched"]).find(isOutside) ?? null;
}

const texts = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

/** For the notes of a tool that made calls: what they brought is brought by it. */
export const taintNote = (sources: readonly TaintSource[]): JsonObject =>
  sources.length === 0 ? {} : { taint: sources.map((source) => ({ ...source })) };
