// The order of the gate, here and nowhere else.
import { allowlist } from "./allowlist.ts";
import { approval } from "./approval.ts";
import { argumentRules } from "./arguments.ts";
import { budget } from "./budget.ts";
import { capsule } from "./capsule.ts";
import { input } from "./input.ts";
import { level } from "./level.ts";
import { mode } from "./mode.ts";
import { policy } from "./policy.ts";
import { rate } from "./rate.ts";
import { registry } from "./registry.ts";
import { relationship } from "./relationship.ts";
import type { Stage } from "./stage.ts";

/** May this caller know that the tool exists? */
export const VISIBLE: readonly Stage[] = [registry, capsule, relationship, policy];

/** May this very call run? Begins with VISIBLE, so what is not visible is not executable by construction. */
export const EXECUTE: readonly Stage[] = [
  ...VISIBLE,
  allowlist,
  level,
  mode,
  input,
  argumentRules,
  rate,
  budget,
  approval,
];

/** The stages whose rules people edit: a replay of recorded calls asks only these. */
export const REPLAYED: readonly Stage[] = [relationship, policy, mode, argumentRules];

export { argumentRules, input };
export { decide, faultOfVerdict, undo } from "./decide.ts";
export { judge, newTrail } from "./stage.ts";
export type { Decision, GatePowers, Stage, Trail } from "./stage.ts";
