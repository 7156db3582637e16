// What is handed on of an answer: the places that an administrator chose, and of long lists the beginning.
import type { Json } from "../../contract/call.ts";
import { refused } from "./document.ts";

type Wanted = ReadonlyMap<string, Wanted> | true;

export interface Shaped {
  readonly value: Json;
  /** Entries of lists that were left out. */
  readonly omitted: number;
}

const EVERY = "*";
const MAX_POINTERS = 100;
const MAX_STEPS = 20;

/** JSON pointers as they are accepted; `*` stands for every entry of a list, or every field. */
export function checkedPointers(pointers: readonly string[], at: string): readonly string[] {
  if (pointers.length === 0 || pointers.length > MAX_POINTERS)
    throw refused(
      at,
      `expected 1 to ${MAX_POINTERS} pointers, got ${pointers.length}`,
      "leave select out to hand everything on",
    );
  const odd = pointers.find(
    (one) => !one.startsWith("/") || one.split("/").length > MAX_STEPS || /~(?![01])/.test(one),
  );
  if (odd !== undefined)
    throw refused(at, `${JSON.stringify(odd)} is no JSON pointer`, "write it as /items/*/name");
  return pointers;
}

export function shaped(
  body: Json,
  select: readonly string[] | null,
  maxItems: number | null,
): Shaped {
  const chosen = select === null ? body : (picked(body, treeOf(select)) ?? null);
  if (maxItems === null) return { value: chosen, omitted: 0 };
  const count = { omitted: 0 };
  return { value: cut(chosen, maxItems, count), omitted: count.omitted };
}

function treeOf(pointers: readonly string[]): Wanted {
  const root = new Map<string, Wanted>();
  for (const pointer of pointers) {
    const steps = pointer
      .split("/")
      .slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    let node: Map<string, Wanted> = root;
    for (const [index, step] of steps.entries()) {
      const there = node.get(step);
      if (there === true) break;
      if (index === steps.length - 1) node.set(step, true);
      else {
        const next = there ? (there as Map<string, Wanted>) : new Map<string, Wanted>();
        node.set(step, next);
        node = next;
      }
    }
  }
  return root;
}

/** The same value with nothing but the wanted places; undefined where there is none. */
function picked(value: Json, wanted: Wanted): Json | undefined {
  if (wanted === true) return value;
  if (typeof value !== "object" || value === null) return undefined;
  const inner = (key: string, one: Json): Json | undefined => {
    const next = wanted.get(key) ?? wanted.get(EVERY);
    return next === undefined ? undefined : picked(one, next);
  };
  if (Array.isArray(value))
    return (value as readonly Json[]).flatMap((one, index) => {
      const kept = inner(String(index), one);
      return kept === undefined ? [] : [kept];
    });
  const fields = Object.entries(value).flatMap(([key, one]: [string, Json]) => {
    const kept = inner(key, one);
    return kept === undefined ? [] : [[key, kept] as const];
  });
  return Object.fromEntries(fields);
}

function cut(value: Json, maxItems: number, count: { omitted: number }): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    count.omitted += Math.max(0, value.length - maxItems);
    return (value as readonly Json[]).slice(0, maxItems).map((one) => cut(one, maxItems, count));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, one]: [string, Json]) => [key, cut(one, maxItems, count)]),
  );
}
