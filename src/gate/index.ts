// The order of the gate, here and nowhere else (C10). Later stages take their place in these two lists.
import { capsule } from "./capsule.ts";
import { input } from "./input.ts";
import { level } from "./level.ts";
import { registry } from "./registry.ts";
import type { Stage } from "./stage.ts";

/** May this caller know that the tool exists? */
export const VISIBLE: readonly Stage[] = [registry, capsule];

/** May this very call run? Begins with VISIBLE, so what is not visible is not executable by construction. */
export const EXECUTE: readonly Stage[] = [...VISIBLE, level, input];

export { decide } from "./decide.ts";
export { judge } from "./stage.ts";
export type { GatePowers, Stage, Subject } from "./stage.ts";
