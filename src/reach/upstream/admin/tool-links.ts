// What an approval gives besides the yes: a place in capsules, and relations, so that people can call the tool.
import type { Caller } from "../../../contract/call.ts";

/** members: everybody of the tenant may execute it; none: only its administrators configure it, rights are given one by one. */
export type Grant = "members" | "none";

export interface ToolLinks {
  /** Ids of the capsules that hold the tools afterwards. Without `capsules`: those with every native tool, and the default one. */
  link(
    actor: Caller,
    tools: readonly string[],
    how: { readonly capsules?: readonly string[] | undefined; readonly grant: Grant },
  ): Promise<string[]>;
  /** Takes the tools out of every capsule of the tenant, and everybody's rights to them away. */
  unlink(actor: Caller, tools: readonly string[]): Promise<void>;
}
