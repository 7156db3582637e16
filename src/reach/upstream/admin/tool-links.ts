// Who can call an approved tool: the capsules that hold it, and relations.
import type { Caller } from "../../../contract/call.ts";

/** members: all users of the tenant may execute it; none: rights are given one by one. */
export type ToolGrant = "members" | "none";

export interface ToolLinks {
  /** Returns the capsules that hold the tools. Without `capsules`: the default one, and those with all native tools. */
  link(
    actor: Caller,
    tools: readonly string[],
    how: { readonly capsules?: readonly string[] | undefined; readonly grant: ToolGrant },
  ): Promise<string[]>;
  /** Takes the tools out of every capsule of the tenant, and removes all rights to them. */
  unlink(actor: Caller, tools: readonly string[]): Promise<void>;
}
