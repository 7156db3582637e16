// What tools do with foreign text that may take long: pure functions by name, so that a thread can run them.
import { compareFiles } from "./compare.ts";
import { applyEdits } from "./edits.ts";
import { gitAnswer } from "./git-report.ts";
import { lintReport } from "./lint-report.ts";
import { addedPackages } from "./package-report.ts";
import { testReport } from "./test-report.ts";
import { textPart } from "./text-part.ts";
import { unifiedDiff } from "../text/unified-diff.ts";

export const COMPUTATIONS = {
  addedPackages,
  applyEdits,
  compareFiles,
  gitAnswer,
  lintReport,
  testReport,
  textPart,
  unifiedDiff,
} as const;

export type Computations = typeof COMPUTATIONS;
export type ComputationName = keyof Computations;
