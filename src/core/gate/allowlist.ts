// TOOL_WHITELIST and the flag tools_policy. Where they are not set, this stage grants nothing and refuses nothing.
import { allow, deny, notFound, type Stage } from "./stage.ts";

export const allowlist: Stage = {
  name: "allowlist",
  engine: "configuration",
  hides: false,
  decide(subject, { allowlist }) {
    if (subject.tool === null) return notFound(subject);
    if (allowlist.state === "off" || allowlist.has(subject.tool.name)) return allow();
    return deny("FORBIDDEN", "not_allowlisted", {
      message: "Blocked by whitelist policy",
      remedy: `an operator must add ${subject.tool.name} to TOOL_WHITELIST`,
      rule: "TOOL_WHITELIST",
      ...(subject.suppose ? { read: { entries: allowlist.entries } } : {}),
    });
  },
};
