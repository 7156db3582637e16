export interface DoctorFinding {
  readonly name: string;
  /** `missing` is an optional program: not an error, but something does not work without it. */
  readonly status: "ok" | "warning" | "failed" | "missing";
  readonly detail: string;
  /** One line a person can run. */
  readonly fix?: string;
  /** The same by `--fix`; only what is safe to do. */
  readonly repair?: () => Promise<void> | void;
}
