// Which rule decided, how it reads, and what it looked at: from the evaluator's own account of an evaluation.
import type { Json } from "../../contract/call.ts";
import { maskSecrets } from "../../util/secrets/masker.ts";
import {
  pathText,
  walkRule,
  type Location,
  type Module,
  type Rule,
  type Term,
} from "@ostiary/rego/syntax";
import { toJson, type Explanation, type RuleVisit } from "@ostiary/rego";
import { keyText, RegoObject, RegoSet, lookup, type Value } from "@ostiary/rego/values";

/** Rules that refuse by being true. */
const REFUSING = /^(den(y|ied)|forbid(den)?|block(ed)?|reject(ed)?|refused?|violations?)$/;
const MAX_READ = 50;
const MAX_VALUE_CHARS = 2_000;

/** The first rule of `reasons` that gave a sentence. */
export function reasonRule({ visits }: Explanation, path: readonly string[]): Location | undefined {
  const name = pathText(path);
  return visits.find(({ rule, value }) => rule === name && value !== undefined)?.location;
}

/** Of a no: a rule that refuses, else the rule (or default) whose value it is, else the first that did not hold. */
export function refusingRule(
  { visits }: Explanation,
  path: readonly string[],
): Location | undefined {
  const home = path.slice(0, -1);
  const refusing = visits.find((visit) => isRefusing(visit, home));
  const own = visits.filter(({ rule }) => rule === pathText(path));
  const decided = own.find(({ value }) => value !== undefined) ?? own[0];
  return (refusing ?? decided)?.location;
}

export function allowingRule(
  { visits }: Explanation,
  path: readonly string[],
): Location | undefined {
  const name = pathText(path);
  return visits.find(({ rule, value }) => rule === name && value === true)?.location;
}

function isRefusing({ rule, value }: RuleVisit, home: readonly string[]): boolean {
  const prefix = `${pathText(home)}.`;
  if (!rule.startsWith(prefix) || !REFUSING.test(rule.slice(prefix.length))) return false;
  if (value instanceof RegoObject || value instanceof RegoSet) return value.size > 0;
  return value !== undefined && value !== false;
}

function ruleAt(
  modules: readonly Module[],
  at: Location,
): { module: Module; rule: Rule } | undefined {
  for (const module of modules) {
    if (module.file !== at.file) continue;
    const rule = module.rules.find((each) => coversElse(each, at));
    if (rule) return { module, rule };
  }
  return undefined;
}

function coversElse(rule: Rule, at: Location): boolean {
  const here = rule.loc.line === at.line && rule.loc.column === at.column;
  return here || (rule.otherwise !== undefined && coversElse(rule.otherwise, at));
}

export function ruleText(modules: readonly Module[], at: Location): string | undefined {
  const found = ruleAt(modules, at);
  return found?.module.source.slice(...found.rule.span).trim();
}

/** What a decision is made over. */
interface Facts {
  readonly input: Value;
  readonly data: RegoObject;
}

/** Paths of input and data that the visited rules name, with their values: `{"input.action": "view"}`. */
export function partsRead(
  modules: readonly Module[],
  visits: Explanation["visits"],
  facts: Facts,
): Json {
  const read: Record<string, Json> = {};
  const seen = new Set<Rule>();
  for (const { location } of visits) {
    const found = ruleAt(modules, location);
    if (!found || seen.has(found.rule)) continue;
    seen.add(found.rule);
    walkRule(found.rule, {
      term(term) {
        if (Object.keys(read).length >= MAX_READ) return;
        const part = term.kind === "ref" ? partRead(term.terms, facts) : undefined;
        if (part) read[part.path] = part.value;
      },
    });
  }
  // An explanation may be kept in the record of the user who asked for it.
  return maskSecrets(read);
}

function partRead(terms: readonly Term[], facts: Facts): { path: string; value: Json } | undefined {
  const [head, ...keys] = terms;
  if (head?.kind !== "var" || (head.name !== "input" && head.name !== "data")) return undefined;
  let value: Value | undefined = facts[head.name];
  let path = head.name;
  for (const term of keys) {
    const key = keyOf(term, facts);
    if (key === undefined) break;
    path +=
      typeof key === "string" && /^\w+$/.test(key)
        ? `.${key}`
        : `[${JSON.stringify(keyText(key))}]`;
    value = value === undefined ? undefined : lookup(value, key);
  }
  // Rules of other packages lie under data too; only documents are what was read.
  if (
    path === head.name ||
    (head.name === "data" && value === undefined && !isDocument(keys, facts))
  )
    return undefined;
  return { path, value: shown(value) };
}

/** A key that is written down, or that input gives. */
function keyOf(term: Term, facts: Facts): Value | undefined {
  if (term.kind === "scalar") return term.value;
  if (term.kind !== "ref") return undefined;
  const [head, ...keys] = term.terms;
  if (head?.kind !== "var" || head.name !== "input") return undefined;
  let value: Value | undefined = facts.input;
  for (const key of keys) {
    if (key.kind !== "scalar" || value === undefined) return undefined;
    value = lookup(value, key.value);
  }
  return value;
}

function isDocument([first]: readonly Term[], { data }: Facts): boolean {
  return first?.kind === "scalar" && data.has(first.value);
}

function shown(value: Value | undefined): Json {
  if (value === undefined) return null;
  const json = toJson(value) as Json;
  const length = JSON.stringify(json).length;
  return length > MAX_VALUE_CHARS ? `(${length} characters)` : json;
}
