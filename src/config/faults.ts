// What is wrong with a configuration: all of it at once, each with its place.
import type { z } from "zod";
import type { Leaf } from "./leaves.ts";

export interface ConfigFault {
  /** file:line:column, the variable's or the flag's name. */
  readonly where: string;
  /** Key of the setting, "" when the fault concerns none. */
  readonly key: string;
  readonly message: string;
}

export class ConfigError extends Error {
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    const count = faults.length === 1 ? "1 fault" : `${faults.length} faults`;
    const lines = faults.map(
      (f) => `  ${f.where}  ${f.key === "" ? "" : `${f.key}: `}${f.message}`,
    );
    super(`The configuration is not valid (${count}); nothing was started.\n${lines.join("\n")}`);
    this.name = "ConfigError";
    this.faults = faults;
  }
}

export function fault(where: string, key: string, message: string): ConfigFault {
  return { where, key, message };
}

/** The message for a refusal by the schema: what was expected, what was got. */
export function refusal(leaf: Leaf, issue: z.core.$ZodIssue, given: unknown): string {
  if (leaf.kind === "map" && issue.path.length > 0)
    return `entry ${issue.path.map(String).join(".")}: ${issue.message}`;
  const inOwnWords = issue.code === "invalid_format" || issue.code === "custom";
  const expected = inOwnWords ? issue.message.replace(/^expected /, "") : leaf.expected;
  const item = issue.path.length > 0 ? ` (entry ${Number(issue.path[0]) + 1})` : "";
  return `expected ${expected}${item}, got ${leaf.secret ? "a value that is not shown" : show(given, issue.path)}`;
}

function show(given: unknown, path: readonly PropertyKey[]): string {
  let value = given;
  for (const step of path) value = (value as Record<PropertyKey, unknown> | null)?.[step];
  if (value === null || value === undefined) return "nothing";
  const whole = typeof value === "number" ? String(value) : JSON.stringify(value);
  // An address is shown without its password.
  const text = whole.replace(/(:\/\/[^/@:]*):[^@/]*@/, "$1:••••••@");
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
