// References in step inputs: {{input.x}}, {{steps.<id>.output.path}}, and in loops {{item}} and {{index}}. Values only;
// nothing is computed.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";

export type Reference =
  | { readonly from: "input"; readonly path: readonly string[]; readonly text: string }
  | { readonly from: "item"; readonly path: readonly string[]; readonly text: string }
  | { readonly from: "index"; readonly path: readonly string[]; readonly text: string }
  | {
      readonly from: "step";
      readonly step: string;
      readonly path: readonly string[];
      readonly text: string;
    };

/** The values that references can name. */
export interface Scope {
  readonly input: JsonObject;
  /** Outputs of the steps that have run. */
  readonly outputs: ReadonlyMap<string, Json>;
  /** Of a loop: the current item and its index, from 0. */
  readonly item?: { readonly value: Json; readonly index: number };
}

const MARK = /\{\{([^{}]*)\}\}/g;
const WHOLE = /^\{\{([^{}]*)\}\}$/;
const PART = /^[A-Za-z0-9_$-]{1,100}$/;

/** A text instead of a reference says what is wrong with it. */
export function parseReference(text: string): Reference | string {
  const [from, ...rest] = text.trim().split(".");
  const bad = rest.find((part) => !PART.test(part));
  if (bad !== undefined) return `${JSON.stringify(text.trim())}: ${JSON.stringify(bad)} is no name`;
  if (from === "input" && rest.length > 0) return { from: "input", path: rest, text: text.trim() };
  if (from === "item" || (from === "index" && rest.length === 0))
    return { from, path: rest, text: text.trim() };
  const [step, output, ...path] = rest;
  if (from === "steps" && step !== undefined && output === "output")
    return { from: "step", step, path, text: text.trim() };
  return `${JSON.stringify(text.trim())}: expected input.<name>, steps.<id>.output.<path>, or in a loop item or index`;
}

/** Every reference inside a value, each once, however often it occurs; faults are texts. */
export function referencesIn(value: Json): (Reference | string)[] {
  const found = new Map<string, Reference | string>();
  const rest: Json[] = [value];
  for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
    if (typeof item === "string") {
      for (const [, inner = ""] of item.matchAll(MARK))
        if (!found.has(inner)) found.set(inner, parseReference(inner));
    } else if (typeof item === "object" && item !== null)
      for (const inner of Object.values(item as JsonObject).reverse()) rest.push(inner ?? null);
  }
  return [...found.values()];
}

/** Undefined when there is nothing. */
export function lookUp(reference: Reference, scope: Scope): Json | undefined {
  return reference.path.reduce<Json | undefined>(
    (value, part) => {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, part))
        return undefined;
      return (value as JsonObject)[part];
    },
    rootOf(reference, scope),
  );
}

function rootOf(reference: Reference, { input, outputs, item }: Scope): Json | undefined {
  switch (reference.from) {
    case "input":
      return input;
    case "item":
      return item?.value;
    case "index":
      return item?.index;
    case "step":
      return outputs.get(reference.step);
  }
}

/** Thrown where a reference finds nothing. */
export class NothingThere extends Error {
  readonly reference: string;
  constructor(reference: string) {
    super(`{{${reference}}} finds nothing`);
    this.reference = reference;
  }
}

/** Characters of all texts of one value: a reference may stand in a text thousands of times. */
const MAX_RENDERED = 4_194_304;

/** A text that is one reference becomes its value as it is; a reference within a text becomes text. */
export function render(value: Json, scope: Scope): Json {
  return rendered(value, scope, { left: MAX_RENDERED });
}

function rendered(value: Json, scope: Scope, room: { left: number }): Json {
  if (typeof value === "string") return renderedText(value, scope, room);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value))
    return (value as readonly Json[]).map((inner) => rendered(inner, scope, room));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, rendered(inner, scope, room)]),
  );
}

function renderedText(text: string, scope: Scope, room: { left: number }): Json {
  const whole = WHOLE.exec(text);
  if (whole) return valueOf(whole[1] ?? "", scope);
  // References inside an inserted value are not resolved.
  return text.replace(MARK, (_, inner: string) => {
    const value = valueOf(inner, scope);
    const said = typeof value === "string" ? value : JSON.stringify(value);
    room.left -= said.length;
    if (room.left < 0)
      throw new AppError(
        "EXECUTION_FAILED",
        "size_exceeded",
        `the step's texts hold more than ${MAX_RENDERED} characters once their references are filled in`,
        { remedy: "refer to a large value once, as the whole argument" },
      );
    return said;
  });
}

function valueOf(inner: string, scope: Scope): Json {
  const reference = parseReference(inner);
  if (typeof reference === "string") throw new NothingThere(inner.trim());
  const value = lookUp(reference, scope);
  if (value === undefined) throw new NothingThere(reference.text);
  return value;
}
