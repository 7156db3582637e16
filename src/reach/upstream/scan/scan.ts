// A definition read with a suspicious eye: what hides in it, and what in it speaks to the model instead of about the
// tool.
import type { Json } from "../../../contract/call.ts";
import type { Finding, ForeignDefinition } from "../../../storage/store/store.ts";
import { reveal } from "./hidden.ts";
import { findingsInCharacters } from "./characters.ts";
import { findingsInWords } from "./words.ts";
import { excerptOf, type DefinitionText } from "./definition-text.ts";

const MAX_FINDINGS = 50;
const MAX_DEPTH = 64;
const MAX_TEXTS = 5_000;
const LONG_DESCRIPTION = 4_000;
const LONG_TEXT = 1_500;

/**
 * All findings for the administrator who approves it, the gravest first. `known` are the names of other tools; those
 * of the same server, when it is given, may be spoken of.
 */
export function scan(
  definition: ForeignDefinition,
  known: Iterable<string>,
  server?: string,
): readonly Finding[] {
  const findings: Finding[] = [];
  const others = otherNames(definition, known, server);
  for (const part of textsOf(definition)) {
    findings.push(...findingsInCharacters(part), ...findingsInWords(part), ...lengthOf(part));
    if (!part.isName && part.path !== "/name") findings.push(...mentions(part, others));
  }
  const rank = { danger: 0, warning: 1, info: 2 };
  return findings.sort((a, b) => rank[a.severity] - rank[b.severity]).slice(0, MAX_FINDINGS);
}

/** The first dangerous finding; such a text is not shown without approval. */
export function firstDanger(value: Json): Finding | null {
  for (const part of textsIn([["", value]])) {
    const found = [...findingsInCharacters(part), ...findingsInWords(part)];
    const danger = found.find(({ severity }) => severity === "danger");
    if (danger) return danger;
  }
  return null;
}

function textsOf(definition: ForeignDefinition): DefinitionText[] {
  const { name, title, description, inputSchema, outputSchema, annotations, operation } =
    definition;
  return textsIn([
    ["/name", name],
    ["/title", title],
    ["/description", description],
    ["/inputSchema", inputSchema],
    ["/outputSchema", outputSchema],
    ["/annotations", annotations],
    ["/operation", operation],
  ]);
}

function textsIn(parts: readonly (readonly [path: string, value: Json])[]): DefinitionText[] {
  const texts: DefinitionText[] = [];
  const walk = (value: Json, path: string, depth: number): void => {
    if (texts.length >= MAX_TEXTS || depth > MAX_DEPTH) return;
    if (typeof value === "string") texts.push({ path, text: value, isName: false });
    if (typeof value !== "object" || value === null) return;
    const isList = Array.isArray(value);
    for (const [key, inner] of Object.entries(value)) {
      const at = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (!isList) texts.push({ path: at, text: key, isName: true });
      walk(inner, at, depth + 1);
    }
  };
  for (const [path, value] of parts) walk(value, path, 0);
  return texts;
}

function lengthOf({ path, text, isName }: DefinitionText): Finding[] {
  const limit = path === "/description" ? LONG_DESCRIPTION : LONG_TEXT;
  const found: Finding[] = [];
  if (!isName && text.length > limit)
    found.push({
      kind: "long",
      severity: path === "/description" ? "info" : "warning",
      path,
      message: `it has ${text.length} characters: read it to its end`,
      excerpt: `…${reveal(text.slice(-160))}`,
    });
  const gap = /[ \t\u00a0\u2000-\u200a\u3000]{40,}|(?:[ \t]*\r?\n){12,}/.exec(text);
  if (gap)
    found.push({
      kind: "long",
      severity: "warning",
      path,
      message: `${gap[0].length} blanks in a row push what follows out of sight`,
      excerpt: excerptOf(text, gap.index + gap[0].length, 80),
    });
  return found;
}

interface Other {
  readonly spelling: string;
  readonly name: string;
  readonly isOwn: boolean;
}

/**
 * The forms in which a tool may be spoken of; plain words such as `search` only count where they are marked as a
 * name.
 */
function otherNames(
  definition: ForeignDefinition,
  known: Iterable<string>,
  server?: string,
): Other[] {
  const own = definition.name.toLowerCase();
  return [...known].flatMap((name) => {
    const tool = name.slice(name.indexOf("/") + 1);
    if (tool.toLowerCase() === own) return [];
    const isOwn = server !== undefined && name.startsWith(`${server}/`);
    return [...new Set([name, name.replace("/", "_"), tool])].map((spelling) => ({
      spelling: spelling.toLowerCase(),
      name,
      isOwn,
    }));
  });
}

function mentions({ path, text }: DefinitionText, others: readonly Other[]): Finding[] {
  const lower = text.toLowerCase();
  const seen = new Map<string, Finding>();
  for (const { spelling, name, isOwn } of others) {
    const at = lower.indexOf(spelling);
    if (at < 0 || seen.has(name)) continue;
    const place = placeOfName(lower, spelling, at);
    if (place < 0) continue;
    seen.set(name, {
      kind: "other_tool",
      severity: isOwn ? "info" : "warning",
      path,
      message: `it speaks of another tool, ${reveal(name)}`,
      excerpt: excerptOf(text, place, spelling.length),
    });
  }
  return [...seen.values()];
}

function placeOfName(lower: string, spelling: string, first: number): number {
  const isPlain = /^[a-z0-9]+$/.test(spelling);
  for (let at = first; at >= 0; at = lower.indexOf(spelling, at + 1)) {
    const [before, after] = [
      lower.slice(Math.max(0, at - 6), at),
      lower.slice(at + spelling.length, at + spelling.length + 6),
    ];
    if (/[a-z0-9_]$/.test(before) || /^[a-z0-9_]/.test(after)) continue;
    const isMarked =
      (/[`'"<]$/.test(before) && /^[`'">(]/.test(after)) ||
      /^\(\)|^ tool\b/.test(after) ||
      /\btool $/.test(before);
    if (!isPlain || isMarked) return at;
  }
  return -1;
}
