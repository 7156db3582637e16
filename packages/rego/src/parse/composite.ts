// Arrays, sets, objects and comprehensions. `[a | ...]` is a comprehension before it is a union.
import { parseBody } from "./expression.ts";
import { parseInfix, parseTerm, parseTermList } from "./term.ts";
import { valueText } from "../values/text.ts";
import type { Location, Term } from "../syntax/ast.ts";
import type { Parser } from "./parser.ts";

export function parseComposite(p: Parser): Term {
  const loc = p.loc();
  const start = p.index;
  const isArray = p.next().text === "[";
  const end = isArray ? "]" : "}";
  if (p.accept(end)) {
    return isArray ? { kind: "array", items: [], loc } : { kind: "object", entries: [], loc };
  }
  // A leading comma is accepted for the sake of old policies.
  const plain = p.accept(",");
  const first = parseTerm(p);
  if (p.isPunct("|") && !plain) {
    p.brackets.set(start, "comprehension");
    const comprehension = p.attempt(() => parseComprehension(p, first, end, loc));
    if (comprehension) return comprehension;
    if (!canBeUnion(p)) return parseComprehension(p, first, end, loc);
    p.brackets.delete(start);
  }
  const head = parseInfix(p, true, first);
  if (!isArray && p.isPunct(":")) return parseObject(p, head, { loc, plain, start });
  const items = parseTermList(p, end, head);
  return { kind: isArray ? "array" : "set", items, loc };
}

// Only `{a | b, c}` can still be a list of unions; anything else should report the body's error.
function canBeUnion(p: Parser): boolean {
  const start = p.index;
  const found = p.attempt(() => {
    p.next();
    parseTerm(p);
    return p.isPunct(",") ? true : undefined;
  });
  p.index = start;
  return found === true;
}

function parseComprehension(p: Parser, head: Term, end: string, loc: Location): Term {
  p.next();
  const body = parseBody(p, end);
  return { kind: end === "]" ? "arrayComprehension" : "setComprehension", head, body, loc };
}

interface Opening {
  readonly loc: Location;
  readonly plain: boolean;
  readonly start: number;
}

function parseObject(p: Parser, key: Term, { loc, plain, start }: Opening): Term {
  p.next();
  const first = parseTerm(p);
  if (p.isPunct("|") && !plain) {
    p.brackets.set(start, "comprehension");
    p.next();
    const body = parseBody(p, "}");
    return { kind: "objectComprehension", key, value: first, body, loc };
  }
  const entries: (readonly [Term, Term])[] = [[key, parseInfix(p, true, first)]];
  while (!p.accept("}")) {
    p.expect(",", 'expected "," or "}"');
    if (p.accept("}")) break;
    const name = parseInfix(p, true);
    p.expect(":", 'expected ":"');
    entries.push([name, parseInfix(p, true)]);
  }
  return { kind: "object", entries: withoutDoubles(entries), loc };
}

/** Of entries whose keys are written alike the last one counts, and the others are not even evaluated. */
function withoutDoubles(
  entries: readonly (readonly [Term, Term])[],
): readonly (readonly [Term, Term])[] {
  if (entries.length < 2) return entries;
  const byKey = new Map<string, readonly [Term, Term]>();
  for (const entry of entries) byKey.set(keyId(entry[0]), entry);
  return inKeyOrder([...byKey.values()]);
}

/** Lookups as keys may turn out alike; then the last counts, and OPA has them sorted. */
function inKeyOrder(
  entries: readonly (readonly [Term, Term])[],
): readonly (readonly [Term, Term])[] {
  const lookups = entries.filter(([key]) => key.kind === "ref");
  if (lookups.length < 2) return entries;
  const sorted = lookups.toSorted(([a], [b]) => (keyId(a) < keyId(b) ? -1 : 1));
  return [...entries.filter(([key]) => key.kind !== "ref"), ...sorted];
}

function keyId(term: Term): string {
  switch (term.kind) {
    case "scalar":
      return `=${valueText(term.value)}`;
    case "var":
      return `v${term.name}`;
    case "ref":
      return `r(${term.terms.map(keyId).join(" ")})`;
    case "array":
      return `[${term.items.map(keyId).join(" ")}]`;
    default:
      return `?${String(term.loc.line)}:${String(term.loc.column)}`; // not compared: only like itself
  }
}
