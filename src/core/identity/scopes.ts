// What a key may do by default: the risks that its level reaches, and nothing else. Deciding approvals and
// administering are scopes of their own, which no level brings along.
import type { Level } from "../../contract/call.ts";
import type { Risk } from "../../contract/tool.ts";

/** As the stage `level` asks for them. */
const RISKS_OF: Readonly<Record<Level, readonly Risk[]>> = {
  view_only: [],
  execute_basic: ["safe"],
  execute_advanced: ["safe", "moderate"],
  admin: ["safe", "moderate", "dangerous"],
};

export const scopesFor = (level: Level): readonly string[] =>
  RISKS_OF[level].map((risk) => `agent:execute:${risk}`);
