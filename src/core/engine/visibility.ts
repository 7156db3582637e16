// What a caller may not know about: one meaning for answers, explanations and records.
import type { Verdict } from "../../contract/call.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import { VISIBLE } from "../gate/index.ts";

const HIDING = new Set(VISIBLE.map((stage) => stage.name));

/**
 * True when a hiding stage denied or could not decide: the caller learns nothing about the name. FORBIDDEN is only said
 * of tools that the caller may see.
 */
export const isHidden = (gates: readonly Verdict[]): boolean => gates.some(hides);

const hides = ({ stage, verdict, code }: Verdict): boolean =>
  verdict !== "allow" && code !== "FORBIDDEN" && HIDING.has(stage);

/** The same for a record as its owner may read it: the verdicts of a hidden tool are not in it. */
export const isHiddenRecord = (
  record: Pick<ExecutionRecord, "errorCode" | "errorReason" | "runner">,
): boolean =>
  record.errorCode === "NOT_FOUND" && record.errorReason === "unknown" && record.runner === null;
