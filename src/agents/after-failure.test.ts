// The decision for every code and reason of the error table, written from the requirements, not from the code.
import { describe, expect, test } from "vitest";
import type { Verdict } from "../contract/call.ts";
import { AppError, CODES, type Code, type Fault } from "../contract/errors.ts";
import { afterFailure, failureOf, type FailedCall } from "./after-failure.ts";

const IDEMPOTENT = { idempotent: true, route: null };
const EFFECT = { idempotent: false, route: null };
const ELSEWHERE = {
  idempotent: false,
  route: { server: "s", method: "tools/call", name: "t", pin: "p", operation: null },
};

/** Refused before the tool began; ended in an idempotent tool; ended in a tool with effects; refused a second time. */
const SITUATIONS = {
  refused: { dispatched: false, tool: EFFECT, attempt: 1 },
  idempotent: { dispatched: true, tool: IDEMPOTENT, attempt: 1 },
  effect: { dispatched: true, tool: EFFECT, attempt: 1 },
  again: { dispatched: false, tool: EFFECT, attempt: 2 },
} as const;

type Action = "retry" | "continue" | "stop";
type Row = readonly [refused: Action, idempotent: Action, effect: Action, again: Action];

const GO_ON: Row = ["continue", "continue", "continue", "continue"];
const END: Row = ["stop", "stop", "stop", "stop"];
const TRANSIENT: Row = ["retry", "retry", "continue", "continue"];
/** A part of the server is out; of a tool that has begun, the part is its own. */
const ENGINE: Row = ["retry", "retry", "continue", "stop"];

const all = (reasons: string, row: Row): Record<string, Row> =>
  Object.fromEntries(reasons.split(" ").map((reason) => [reason, row]));

const EXPECTED: Record<Code, Record<string, Row>> = {
  BAD_REQUEST: all(
    "invalid_input invalid_arguments unknown_parameter invalid_json ambiguous_request where_empty labels_duplicate draft_invalid kind_unsupported name_invalid schema_invalid",
    GO_ON,
  ),
  UNAUTHORIZED: {
    ...all("no_credentials bad_credentials key_inactive", END),
    upstream_login: GO_ON,
  },
  BUDGET_EXHAUSTED: {
    ...all("budget_tokens budget_tool_calls budget_api_calls", END),
    ...all(
      "budget_images budget_voice_minutes budget_memory_tokens budget_vector_ops turn_cost",
      GO_ON,
    ),
  },
  FORBIDDEN: {
    ...all("not_allowlisted policy_denied level_too_low scope_missing permission_missing", GO_ON),
    ...all("mode_forbids path_forbidden path_not_allowed command_forbidden env_forbidden", GO_ON),
    ...all("size_exceeded egress_blocked header_forbidden tainted approval_declined", GO_ON),
    ...all("approval_expired approval_not_presented approval_changed approval_used", GO_ON),
    ...all("own_approval tools_exceed_caller budget_exceeds_caller admin_only", GO_ON),
    ...all("bad_origin bad_host not_read_only several_statements function_denied", GO_ON),
    ...all("relation_denied connection_read_only connection_forbidden", GO_ON),
    ...all("definition_changed definition_orphaned", GO_ON),
    key_inactive: END,
  },
  NOT_FOUND: all("unknown workflow_not_found agent_not_found", GO_ON),
  METHOD_NOT_ALLOWED: all("method_not_allowed", GO_ON),
  CONFLICT: {
    ...all(
      "not_running not_waiting already_exists idempotency_in_flight several_matches stale",
      GO_ON,
    ),
    ...all(
      "mode_order phase_not_current approval_required result_not_kept still_running turn_in_progress session_ended",
      GO_ON,
    ),
  },
  PAYLOAD_TOO_LARGE: all("body_too_large", GO_ON),
  UNSUPPORTED_MEDIA_TYPE: all("content_type", GO_ON),
  UNPROCESSABLE: all("idempotency_mismatch", GO_ON),
  TOO_MANY_REQUESTS: {
    ...all("rate_user rate_tenant rate_throttle rate_category rate_tool rate_mode", TRANSIENT),
    ...all("rate_key rate_ip rate_refusals concurrency", TRANSIENT),
  },
  CANCELLED: { user: GO_ON, shutdown: END },
  INTERNAL_SERVER_ERROR: all("internal", GO_ON),
  EXECUTION_FAILED: {
    ...all(
      "unexpected upstream_protocol upstream_error tool_error output_invalid rounds_exhausted loop_blocked no_answer",
      GO_ON,
    ),
    ...all("upstream_unavailable upstream_rate", TRANSIENT),
  },
  OUTCOME_UNKNOWN: { ...all("crashed answer_lost stale", GO_ON), not_recorded: END },
  UNSUPPORTED_PROVIDER: all("drafted external mcp native", GO_ON),
  UNAVAILABLE: {
    engine_unavailable: ENGINE,
    ...all("circuit_open resource_exhausted queue_full provider_quota", TRANSIENT),
    ...all("sandbox_unavailable browser_missing provider_not_configured", GO_ON),
    ...all("upstream_unavailable client_cannot_be_asked", GO_ON),
    shutting_down: END,
  },
  TIMEOUT: all("timeout", TRANSIENT),
};

interface Given {
  readonly dispatched?: boolean;
  readonly tool?: FailedCall["tool"];
  readonly attempt?: number;
  readonly more?: Partial<FailedCall["outcome"]>;
}

function next(fault: Partial<Fault> & { code: Code; reason: string }, given: Given = {}) {
  const { dispatched = true, tool = EFFECT, attempt = 1, more } = given;
  const error = { message: "it failed", ...fault };
  const outcome = { error, dispatched, gates: [], metadata: {}, approval: null, ...more };
  return afterFailure({ outcome, tool, attempt });
}

const CODE_NAMES = Object.keys(CODES) as Code[];

describe("R122: after a failure", () => {
  test.each(CODE_NAMES)("%s: every reason of the table has its decision", (code) => {
    expect(Object.keys(EXPECTED[code]).sort()).toEqual([...CODES[code].reasons].sort());
    for (const [reason, row] of Object.entries(EXPECTED[code])) {
      const found = Object.values(SITUATIONS).map(
        (situation) => next({ code, reason, retryAfterSeconds: 1 }, situation).action,
      );
      expect([reason, ...found]).toEqual([reason, ...row]);
    }
  });

  test("C40: nothing with an effect is repeated once it has begun, whatever the failure", () => {
    for (const code of CODE_NAMES)
      for (const reason of [...CODES[code].reasons, "connect_failed", "dns_failed"])
        for (const retryAfterSeconds of [1, 60])
          expect([code, reason, next({ code, reason, retryAfterSeconds }).action]).not.toContain(
            "retry",
          );
  });

  test("C40: an unknown outcome is never repeated, not even of an idempotent tool", () => {
    for (const reason of CODES.OUTCOME_UNKNOWN.reasons)
      expect(next({ code: "OUTCOME_UNKNOWN", reason }, { tool: IDEMPOTENT }).action).not.toBe(
        "retry",
      );
  });

  test("R166: a broken connection or a timeout of an idempotent tool is repeated once, soon", () => {
    const network = [
      { code: "EXECUTION_FAILED", reason: "connect_failed" },
      { code: "EXECUTION_FAILED", reason: "dns_failed" },
      { code: "TIMEOUT", reason: "timeout" },
    ] as const;
    for (const fault of network) {
      expect(next(fault, { tool: IDEMPOTENT })).toEqual({ action: "retry", afterMs: 250 });
      expect(next(fault, { tool: IDEMPOTENT, attempt: 2 })).toEqual({ action: "continue" });
      const repeated = { tool: IDEMPOTENT, more: { metadata: { attempts: 2 } } };
      expect(next(fault, repeated)).toEqual({ action: "continue" });
    }
  });

  test("R166: lack of room is repeated after the wait it names, and only after a short one", () => {
    const full = { code: "UNAVAILABLE", reason: "queue_full" } as const;
    const refused = { dispatched: false };
    expect(next({ ...full, retryAfterSeconds: 2 }, refused)).toEqual({
      action: "retry",
      afterMs: 2_000,
    });
    expect(next({ ...full, retryAfterSeconds: 30 }, refused)).toEqual({ action: "continue" });
    expect(next(full, refused)).toEqual({ action: "continue" });
  });

  test("C40: a tool elsewhere that was refused before anything was sent may be called again", () => {
    for (const reason of ["queue_full", "circuit_open"]) {
      const fault = { code: "UNAVAILABLE", reason, retryAfterSeconds: 1 } as const;
      expect(next(fault, { tool: ELSEWHERE }).action).toBe("retry");
    }
    const lost = { code: "EXECUTION_FAILED", reason: "upstream_unavailable" } as const;
    expect(next(lost, { tool: ELSEWHERE }).action).toBe("continue");
  });

  test("what a person approved once is not called twice", () => {
    const approval = { id: "a", state: "consumed", expiresAt: 0, holdSeconds: 0 } as const;
    const given = { tool: IDEMPOTENT, more: { approval } };
    expect(next({ code: "TIMEOUT", reason: "timeout" }, given)).toEqual({ action: "continue" });
  });

  test("what the mode forbids stops the work in LOCKDOWN alone", () => {
    const verdict = { stage: "mode", verdict: "deny", ms: 0 } as const;
    const gates = (mode: "ALERT" | "LOCKDOWN"): Given => ({
      dispatched: false,
      more: { gates: [{ ...verdict, mode }] satisfies Verdict[] },
    });
    const fault = { code: "FORBIDDEN", reason: "mode_forbids" } as const;
    expect(next(fault, gates("ALERT"))).toEqual({ action: "continue" });
    expect(next(fault, gates("LOCKDOWN")).action).toBe("stop");
  });

  test("the user gets the reason and what to do", () => {
    const fault = {
      code: "BUDGET_EXHAUSTED",
      reason: "budget_tool_calls",
      message: "5 of 5 tool calls are used",
      remedy: "wait for the next month",
    } as const;
    expect(next(fault, { dispatched: false })).toEqual({
      action: "stop",
      message: "Stopped: 5 of 5 tool calls are used. wait for the next month",
    });
  });

  test("a call that threw is decided about in the same way", () => {
    const out = new AppError("UNAVAILABLE", "engine_unavailable", "the record cannot be written", {
      retryAfterSeconds: 5,
    });
    const thrown = { outcome: failureOf(out), tool: EFFECT };
    expect(afterFailure({ ...thrown, attempt: 1 })).toEqual({ action: "retry", afterMs: 5_000 });
    expect(afterFailure({ ...thrown, attempt: 2 }).action).toBe("stop");
    const lost = new AppError("OUTCOME_UNKNOWN", "not_recorded", "it may have run");
    const unknown = { outcome: failureOf(lost), tool: IDEMPOTENT, attempt: 1 };
    expect(afterFailure(unknown).action).toBe("stop");
  });
});
