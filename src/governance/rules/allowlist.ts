// TOOL_WHITELIST and the flag tools_policy as one answer: only a named tool, or the literal `*`, is on the list.
import type { Allowlist } from "./governance.ts";

export interface AllowlistSettings {
  /** Names in any spelling a tool goes by. */
  readonly whitelist: readonly string[];
  readonly toolsPolicy: boolean;
}

/** `canonical` turns an alias or wire name into the tool's name. */
export function createAllowlist(
  { whitelist, toolsPolicy }: AllowlistSettings,
  canonical: (name: string) => string | null,
): Allowlist {
  const all = whitelist.includes("*");
  return {
    state: toolsPolicy || whitelist.length > 0 ? "on" : "off",
    entries: whitelist,
    has: (toolName) =>
      all || whitelist.some((entry) => entry === toolName || canonical(entry) === toolName),
  };
}
