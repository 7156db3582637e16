// What the referee asks for and we do not answer yet, each with its reason. The run fails when an entry has become
// unnecessary, so this list only shrinks.

export type RequirementSet = "2025-11-25" | "2026-07-28";

export interface LeftOut {
  readonly set: RequirementSet;
  readonly scenario: string;
  /** Only these checks of the scenario; all others must pass. Absent: the whole scenario. */
  readonly checks?: readonly string[];
  /** Green for the wrong cause: the feature is absent and the referee cannot tell. Counted as skipped either way. */
  readonly hollow?: true;
  readonly reason: string;
}

const RESOURCES = "no server upstream here, so no resources are declared; judged with --gateway";
const PROMPTS = "no server upstream here, so no prompts are declared; judged with --gateway";
const ASKING =
  "no native tool asks the client for anything; servers upstream do, judged with --gateway";
const LOGGING = "no server upstream here, so logging is not declared; judged with --gateway";
const COMPLETION = "no server upstream here, so no completions are declared; judged with --gateway";

/** Never scored, and demanded with --gateway all the same. */
export const TASK_SCENARIOS: readonly string[] = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];

const whole = (set: RequirementSet, reason: string, ...scenarios: string[]): LeftOut[] =>
  scenarios.map((scenario) => ({ set, scenario, reason }));

const CONTENT_SCENARIOS = {
  resources: [
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
  ],
  prompts: [
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
  ],
} as const;

export const LEFT_OUT: readonly LeftOut[] = [
  ...whole("2025-11-25", LOGGING, "logging-set-level", "tools-call-with-logging"),
  ...whole("2025-11-25", COMPLETION, "completion-complete"),
  ...whole(
    "2025-11-25",
    ASKING,
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
  ),
  ...whole("2025-11-25", RESOURCES, ...CONTENT_SCENARIOS.resources),
  ...whole("2025-11-25", RESOURCES, "resources-subscribe", "resources-unsubscribe"),
  ...whole("2025-11-25", PROMPTS, ...CONTENT_SCENARIOS.prompts),
  ...whole(
    "2025-11-25",
    "streams are not resumable: a lost answer is fetched by execution id; never scored",
    "server-sse-polling",
  ),

  {
    set: "2026-07-28",
    scenario: "server-stateless",
    checks: [
      "sep-2575-server-rejects-undeclared-capability",
      "sep-2575-missing-capability-http-400",
    ],
    reason: ASKING,
  },
  {
    set: "2026-07-28",
    scenario: "caching",
    checks: [
      "sep-2549-prompts-list-caching-hints",
      "sep-2549-resources-list-caching-hints",
      "sep-2549-resources-templates-list-caching-hints",
    ],
    reason: "asks for lists of prompts and resources, which are not declared",
  },
  ...whole("2026-07-28", COMPLETION, "completion-complete"),
  ...whole("2026-07-28", RESOURCES, ...CONTENT_SCENARIOS.resources, "sep-2164-resource-not-found"),
  ...whole("2026-07-28", PROMPTS, ...CONTENT_SCENARIOS.prompts),
  ...whole(
    "2026-07-28",
    ASKING,
    "input-required-result-basic-elicitation",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-request-state",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-non-tool-request",
    "input-required-result-result-type",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
    "input-required-result-ignore-extra-params",
  ),
  {
    set: "2026-07-28",
    scenario: "input-required-result-validate-input",
    hollow: true,
    reason: `${ASKING}; any error satisfies this one, also that of an unknown tool`,
  },
  {
    set: "2026-07-28",
    scenario: "tasks-lifecycle",
    checks: ["sep-2663-tasks-get-status-failed"],
    reason: "a native tool has no errors of the protocol; judged with --gateway",
  },
  {
    set: "2026-07-28",
    scenario: "tasks-dispatch-and-envelope",
    checks: ["tasks-result-type-complete-on-non-task-responses"],
    reason: ASKING,
  },
  ...whole("2026-07-28", ASKING, "tasks-mrtr-input", "tasks-mrtr-composition"),
  ...whole(
    "2026-07-28",
    "no native tool needs tasks; servers upstream may, judged with --gateway",
    "tasks-required-task-error",
  ),
  ...whole("2026-07-28", "the referee itself skips it", "tasks-status-notifications"),
];
