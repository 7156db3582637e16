// Published as `ostiary/plan`: the tool step for pipelines that run elsewhere. It imports nothing, so that it can be
// used wherever there is a `fetch`.

/** A bare name is called without input. */
export type PlannedTool =
  string | { readonly name: string; readonly input?: Readonly<Record<string, unknown>> };

/** What came of one tool; every key always has a value. */
export interface ToolResult {
  readonly tool: string;
  readonly success: boolean;
  readonly result: unknown;
  readonly error: string | null;
  /** Seconds. */
  readonly elapsed: number;
}

/** What the step reads of the pipeline's state. */
export interface PlanState {
  readonly plan?: { readonly tools?: readonly PlannedTool[] | null } | null;
  readonly tool_results?: readonly ToolResult[] | null;
}

/** What the step changes: nothing where it was skipped. */
export interface PlanUpdate {
  tool_results?: ToolResult[];
}

export interface PlanStepOptions {
  /** Where Ostiary is, e.g. `http://127.0.0.1:3100`. */
  readonly url: string;
  readonly apiKey: string;
  /** Seconds to wait for approvals altogether; left out: what the server's approval rules say. */
  readonly wait?: number;
  /** Instead of the global one, e.g. with other time limits: the answer comes when the last tool has ended. */
  readonly fetch?: typeof globalThis.fetch;
}

/** The second argument is what LangGraph gives to its nodes; only the signal is used. */
export type PlanStep = (
  state: PlanState,
  config?: { readonly signal?: AbortSignal | undefined },
) => Promise<PlanUpdate>;

/** The server refused the whole step: a wrong key, a plan that it cannot read. */
export class PlanStepError extends Error {
  readonly status: number;
  /** E.g. `BAD_REQUEST`; empty where the answer was not Ostiary's. */
  readonly code: string;
  /** The fields that are wrong, where the plan could not be read. */
  readonly errors: readonly { readonly path: string; readonly message: string }[];

  constructor(message: string, status: number, code: string, errors: PlanStepError["errors"]) {
    super(message);
    this.name = "PlanStepError";
    this.status = status;
    this.code = code;
    this.errors = errors;
  }
}

/**
 * A pipeline step that runs `state.plan.tools` in order and gives back `tool_results` with the new results at its end.
 * A tool that is blocked or fails is one of the results; the step itself throws only a {@link PlanStepError}, or what
 * `fetch` throws.
 *
 * @example
 * const tools = createPlanStep({ url: "http://127.0.0.1:3100", apiKey });
 * const { tool_results } = await tools({ plan: { tools: [{ name: "system/echo", input: { text: "hi" } }] } });
 */
export function createPlanStep(options: PlanStepOptions): PlanStep {
  const { url, apiKey, wait } = options;
  const send: typeof globalThis.fetch = options.fetch ?? globalThis.fetch;
  const target = new URL("/api/v1/plans/execute", url);
  return async (state, config) => {
    const { signal } = config ?? {};
    // Only the plan is sent: the rest of the state is the pipeline's own business.
    const tools = state.plan?.tools ?? [];
    const response = await send(target, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ state: { plan: { tools } }, ...(wait === undefined ? {} : { wait }) }),
      ...(signal ? { signal } : {}),
    });
    const answer = await answerOf(response);
    if (answer.skipped !== null) return {};
    return { tool_results: [...(state.tool_results ?? []), ...answer.state.tool_results] };
  };
}

interface Answer {
  readonly skipped: string | null;
  readonly state: { readonly tool_results: readonly ToolResult[] };
}

async function answerOf(response: Response): Promise<Answer> {
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  if (response.ok && body?.["success"] === true) return body as unknown as Answer;
  const { detail, code, errors } = (body ?? {}) as Partial<{
    detail: string;
    code: string;
    errors: PlanStepError["errors"];
  }>;
  const message = detail ?? `${response.url} answered ${response.status}, not as Ostiary does`;
  throw new PlanStepError(message, response.status, code ?? "", errors ?? []);
}
