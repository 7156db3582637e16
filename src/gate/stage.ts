// What a stage is and how one is judged: in order, timed, and failing closed in one place.
import type { Call, Verdict } from "../call.ts";
import type { Code, FieldFault } from "../errors.ts";
import type { Validators } from "./validators.ts";

/** The part of a call that a stage may look at; discovery asks with no arguments. */
export type Subject = Pick<Call, "caller" | "tool" | "requestedName" | "arguments">;

/** What stages may use. Each later engine (relations, policy, state, …) is one more field. */
export interface GatePowers {
  /** Tools of a capsule, or null when there is no such active capsule. */
  readonly capsule: (id: string) => CapsuleTools | null | Promise<CapsuleTools | null>;
  readonly validators: Validators;
}

export interface CapsuleTools {
  has(toolName: string): boolean;
}

export type Decision =
  | { readonly kind: "allow" }
  | ({ readonly kind: "deny"; readonly code: Code; readonly reason: string } & Told)
  | ({ readonly kind: "hold"; readonly reason: string } & Told);

interface Told {
  readonly message: string;
  readonly remedy?: string;
  readonly rule?: string;
  readonly engine?: string;
  readonly errors?: readonly FieldFault[];
}

export interface Stage {
  readonly name: string;
  /** The engine named when the stage cannot decide. */
  readonly engine: string;
  /** True: a no means that the tool does not exist for this caller. */
  readonly hides: boolean;
  decide(subject: Subject, powers: GatePowers): Decision | Promise<Decision>;
}

const ALLOW: Decision = Object.freeze({ kind: "allow" });
export const allow = (): Decision => ALLOW;
export const deny = (code: Code, reason: string, told: Told): Decision => ({ kind: "deny", code, reason, ...told }); // prettier-ignore

/** The one answer for whatever is not visible: unknown, disabled, not in the capsule, forbidden alike (C23). */
export const notFound = (subject: Subject): Decision =>
  deny("NOT_FOUND", "unknown", { message: `Tool '${subject.requestedName}' not found`, remedy: "list the tools you may use" }); // prettier-ignore

/** Longest a stage may think before its engine counts as missing. */
const STAGE_LIMIT_MS = 500;

/** A stage that throws or is too slow denies, and says which engine was missing. No stage has its own catch. */
export function judge(
  stage: Stage,
  subject: Subject,
  powers: GatePowers,
): Verdict | Promise<Verdict> {
  const began = performance.now();
  try {
    const decision = stage.decide(subject, powers);
    if (!(decision instanceof Promise)) return stamp(stage, decision, began);
    return settle(stage, decision, began);
  } catch {
    return stamp(stage, unavailable(stage), began);
  }
}

async function settle(stage: Stage, pending: Promise<Decision>, began: number): Promise<Verdict> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Decision>((resolve) => {
    timer = setTimeout(() => resolve(unavailable(stage)), STAGE_LIMIT_MS);
  });
  try {
    return stamp(stage, await Promise.race([pending, late]), began);
  } catch {
    return stamp(stage, unavailable(stage), began);
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(stage: Stage): Decision {
  return deny("UNAVAILABLE", "engine_unavailable", {
    message: `the ${stage.engine} engine did not answer stage ${stage.name}`,
    remedy: "try again; if it stays so, an operator must look at the server's health page",
    engine: stage.engine,
  });
}

function stamp(stage: Stage, decision: Decision, began: number): Verdict {
  const ms = Math.round((performance.now() - began) * 1000) / 1000;
  if (decision.kind === "allow") return { stage: stage.name, verdict: "allow", ms };
  const { kind, ...rest } = decision;
  return { stage: stage.name, verdict: kind, ms, ...rest };
}
