/** True when the recorded call was refused because the tool is hidden: its record must show no more than the answer did. */
export const isHiddenRecord = (record: {
  readonly errorCode: string | null;
  readonly errorReason: string | null;
  readonly runner: string | null;
}): boolean =>
  record.errorCode === "NOT_FOUND" && record.errorReason === "unknown" && record.runner === null;
