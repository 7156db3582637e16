// Verifications that are under way: one for each scope at a time, shared by all who request it, with its progress.
import { AppError } from "../../contract/errors.ts";
import type { LiveVerdict } from "./live.ts";

export interface VerificationState {
  readonly state: "idle" | "running" | "done" | "failed";
  /** Events read up to this number, of those up to `head`; then history is compared. */
  readonly seq: number;
  readonly head: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Null until it is done. */
  readonly ok: boolean | null;
  /** The first fault of the ledger, or why it could not be read. */
  readonly fault: string | null;
}

type Question = { readonly tenantId: string | null; readonly anchors?: readonly string[] };
type OnProgress = (seq: number, head: number) => void;

export interface Verifications {
  verify(question: Question): Promise<LiveVerdict>;
  /** Of the last one of this scope since the server started. */
  state(tenantId: string | null): VerificationState;
}

interface Entry {
  state: VerificationState;
  readonly anchors: string;
  readonly verdict: Promise<LiveVerdict>;
}

const IDLE: VerificationState = {
  state: "idle",
  seq: 0,
  head: 0,
  startedAt: null,
  endedAt: null,
  ok: null,
  fault: null,
};

export function createVerifications(
  run: (question: Question, onProgress: OnProgress) => Promise<LiveVerdict>,
  now: () => number,
): Verifications {
  const entries = new Map<string | null, Entry>();

  const begin = (question: Question, anchors: string): Entry => {
    const started = Promise.withResolvers<LiveVerdict>();
    const entry: Entry = {
      state: { ...IDLE, state: "running", startedAt: now() },
      anchors,
      verdict: started.promise,
    };
    entries.set(question.tenantId, entry);
    const change = (more: Partial<VerificationState>): void => {
      entry.state = { ...entry.state, ...more };
    };
    run(question, (seq, head) => change({ seq, head })).then(
      (verdict) => {
        const fault = verdict.ok ? null : verdict.fault.message;
        change({ state: "done", endedAt: now(), ok: verdict.ok, fault });
        started.resolve(verdict);
      },
      (cause: unknown) => {
        const fault = cause instanceof AppError ? cause.message : "the ledger could not be read";
        change({ state: "failed", endedAt: now(), fault });
        started.reject(cause);
      },
    );
    return entry;
  };

  return {
    verify(question) {
      const anchors = JSON.stringify(question.anchors ?? []);
      const current = entries.get(question.tenantId);
      if (current?.state.state !== "running") return begin(question, anchors).verdict;
      if (current.anchors === anchors) return current.verdict;
      throw new AppError("CONFLICT", "still_running", "the ledger is being verified already", {
        remedy: "wait until it has ended: GET /api/v1/audit/verify/progress",
      });
    },
    state: (tenantId) => entries.get(tenantId)?.state ?? IDLE,
  };
}
