// What a form shows of a schema: fields. Conditions between fields are told as faults instead.
const CONDITIONS = ["if", "then", "else", "not", "dependentRequired", "dependentSchemas"];
const CHOICES = ["anyOf", "oneOf", "allOf"];

type Node = Readonly<Record<string, unknown>>;

export function formSchema(schema: unknown, depth = 0): unknown {
  if (depth > 64 || typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((one) => formSchema(one, depth + 1));
  const shown: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (CONDITIONS.includes(key)) continue;
    if (CHOICES.includes(key) && Array.isArray(value) && value.every(isCondition)) continue;
    if (CHOICES.includes(key) && key !== "allOf" && Array.isArray(value)) {
      shown[key] = value.map((branch) => named(formSchema(branch, depth + 1)));
      continue;
    }
    shown[key] = key === "default" || key === "examples" ? value : formSchema(value, depth + 1);
  }
  return shown;
}

/** A branch that has no field and no type of its own. */
const isCondition = (branch: unknown): boolean =>
  typeof branch === "object" &&
  branch !== null &&
  !["properties", "type", "$ref", "const", "enum", "items", ...CHOICES].some(
    (key) => key in (branch as Node),
  );

const WORDS: Readonly<Record<string, string>> = {
  string: "as text",
  array: "as a list",
  object: "as an object",
  number: "as a number",
  integer: "as a number",
  boolean: "yes or no",
  null: "nothing",
};

/** Branches are chosen by a word. */
function named(branch: unknown): unknown {
  if (typeof branch !== "object" || branch === null || "title" in branch) return branch;
  const { type } = branch as { type?: unknown };
  const word = typeof type === "string" ? WORDS[type] : undefined;
  return word === undefined ? branch : { ...branch, title: word };
}
