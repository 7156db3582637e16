// What the gate asks: the enforced set decides, the one in trial is heard beside it and changes nothing.
import type {
  PolicyJudgement,
  Policies,
  PolicyDecision,
  PolicyEngine,
  PolicyInput,
  PolicyQuestion,
} from "./policy.ts";

interface Remembered extends PolicyQuestion {
  readonly revision: number;
  readonly judged: PolicyJudgement;
}

type Answers = WeakMap<object, Remembered>;

/** `assertFresh` throws while a policy that another instance published may be unknown here. */
export function createPolicies(
  engine: PolicyEngine,
  assertFresh: () => void = () => undefined,
): Policies {
  const answers = { view: new WeakMap<object, Answers>(), execute: new WeakMap<object, Answers>() };

  const decide: Policies["decide"] = (input, { explain }) => {
    assertFresh();
    const decided = engine.decide("enforced", input, explain);
    return decided instanceof Promise
      ? decided.then((late) => withTrial(engine, input, late))
      : withTrial(engine, input, decided);
  };

  return {
    engine: engine.engine,
    get version() {
      return engine.versionOf("enforced") ?? "";
    },
    get timeless() {
      return engine.timeless;
    },
    decide,
    remembered(about, input) {
      const may = about.action === "view" ? engine.timeless : engine.argumentless;
      if (!may) return decide(input(), { explain: false });
      assertFresh();
      const answered = answers[about.action];
      const known = answered.get(about.caller)?.get(about.tool);
      const { revision } = engine;
      if (
        known?.revision === revision &&
        known.mode === about.mode &&
        known.session === about.session
      )
        return known.judged;
      const judged = decide(input(), { explain: false });
      if (judged instanceof Promise) return judged;
      let ofCaller = answered.get(about.caller);
      if (!ofCaller) answered.set(about.caller, (ofCaller = new WeakMap()));
      ofCaller.set(about.tool, { ...about, revision, judged });
      return judged;
    },
  };
}

function withTrial(
  engine: PolicyEngine,
  input: PolicyInput,
  decided: PolicyDecision | null,
): PolicyJudgement | Promise<PolicyJudgement> {
  if (decided === null) throw new Error("no policy is loaded");
  const version = engine.versionOf("shadow");
  if (version === null) return decided;
  try {
    const trial = engine.decide("shadow", input, false);
    if (!(trial instanceof Promise)) return compared(decided, trial);
    return trial.then(
      (late) => compared(decided, late),
      (cause: unknown) => failing(decided, version, cause),
    );
  } catch (cause) {
    return failing(decided, version, cause);
  }
}

function compared(decided: PolicyDecision, trial: PolicyDecision | null): PolicyJudgement {
  if (trial === null || trial.allow === decided.allow) return decided;
  const { version, allow, reasons, rule } = trial;
  const summary =
    reasons.length > 0
      ? reasons.join("; ")
      : `the policy in trial ${allow ? "allows it" : "does not allow it"}`;
  const reason = rule === undefined ? summary : `${summary} (${rule})`;
  return { ...decided, shadow: { version, verdict: allow ? "allow" : "deny", reason } };
}

/** Enforced it would deny: that differs from an allow. */
function failing(decided: PolicyDecision, version: string, cause: unknown): PolicyJudgement {
  if (!decided.allow) return decided;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return { ...decided, shadow: { version, verdict: "deny", reason } };
}
