// Which recorded calls were of a tool that the caller may not know of.

interface RecordedEnd {
  readonly errorCode: string | null;
  readonly runner: string | null;
}

/**
 * The tool was unknown or hidden from the caller, who must not learn which. A tool that itself reports NOT_FOUND had
 * a runner.
 */
export const wasHidden = ({ errorCode, runner }: RecordedEnd): boolean =>
  errorCode === "NOT_FOUND" && runner === null;
