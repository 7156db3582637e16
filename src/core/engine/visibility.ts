// Whether a tool is hidden from its caller; `contract/hidden-record.ts` says the same of a record.
import type { Verdict } from "../../contract/call.ts";
import { VISIBLE } from "../gate/index.ts";

const HIDING = new Set(VISIBLE.map((stage) => stage.name));

/**
 * True when a hiding stage denied or could not decide: the caller learns nothing about the name. FORBIDDEN is only said
 * of tools that the caller may see.
 */
export const isHidden = (gates: readonly Verdict[]): boolean => gates.some(hides);

const hides = ({ stage, verdict, code }: Verdict): boolean =>
  verdict !== "allow" && code !== "FORBIDDEN" && HIDING.has(stage);
