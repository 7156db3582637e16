// What the gate decides about, and the questions to a person that its stages collect.
import type { Call, Mode } from "./call.ts";

/** What a stage decides about: a Call, or (discovery, explain) the same without an execution. */
export interface Subject
  extends
    Pick<
      Call,
      "caller" | "tool" | "requestedName" | "arguments" | "sessionId" | "ip" | "grant" | "taint"
    >,
    Partial<Pick<Call, "entry" | "idempotencyKey">> {
  readonly action: "view" | "execute";
  /** The execution; null when nothing is executed. */
  readonly id: string | null;
  /** Present: only a question. Nothing is counted, reserved or used up; verdicts carry `ruleText` and `read`. */
  readonly suppose?: Suppose;
}

export interface Suppose {
  readonly mode?: Mode;
  /** Epoch ms. */
  readonly at?: number;
  /** Only the decision counts: engines need not say what they read for it. */
  readonly brief?: true;
}

/** Why a person must be asked, and how. Collected from the stages, answered by the last one. */
export interface Ask {
  /** Slug: mode_asks, tool_asks, command_asks, host_asks, tainted, … */
  readonly reason: string;
  /** For the approver: a sentence. */
  readonly message: string;
  readonly rule?: string;
}
