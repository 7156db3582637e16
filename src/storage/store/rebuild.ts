// History made anew from the log alone: into copies beside the tables that serve, which change places with them at
// the end.
import type { Action } from "./store.ts";
import { RebuildUnderWay, type RebuildProgress } from "./rows/history.ts";
import { apply, project, type ExecutionChanges } from "./projection.ts";

/** Events of one step: the writer is busy for some ten milliseconds, then calls have their turn. */
export const STRETCH = 1_000;

export interface RebuildStep {
  /** Events up to this number are in the copies now. */
  readonly seq: number;
  readonly events: number;
  readonly head: number;
}

/** What a database does; each step is one transaction. */
export interface RebuildSteps {
  /** Empty copies, but for the sums of what was archived. Answers the number of the oldest event. */
  begin(): Promise<number>;
  stretch(after: number): Promise<RebuildStep>;
  /** The rest, while nobody else writes, and the change of places. `oldest` must still be the oldest event. */
  finish(after: number, oldest: number): Promise<RebuildStep>;
  abandon(): Promise<void>;
}

export type Rebuild = (onProgress: (progress: RebuildProgress) => void) => Promise<RebuildProgress>;

export function rebuilding(open: () => Promise<RebuildSteps>): Rebuild {
  let underWay = false;
  return async (onProgress) => {
    if (underWay) throw new RebuildUnderWay("history is being rebuilt already");
    underWay = true;
    try {
      const steps = await open();
      return await run(steps, onProgress).catch(async (cause: unknown) => {
        // What made it fail may keep this from working; the next rebuild begins by clearing away.
        await steps.abandon().catch(() => undefined);
        throw cause;
      });
    } finally {
      underWay = false;
    }
  };
}

async function run(
  steps: RebuildSteps,
  onProgress: (progress: RebuildProgress) => void,
): Promise<RebuildProgress> {
  const oldest = await steps.begin();
  let progress: RebuildProgress = { events: 0, seq: 0, head: 0 };
  const add = ({ events, seq, head }: RebuildStep): void => {
    progress = { events: progress.events + events, seq, head };
    onProgress(progress);
  };
  do add(await steps.stretch(progress.seq));
  while (progress.head - progress.seq > STRETCH);
  add(await steps.finish(progress.seq, oldest));
  return progress;
}

/** An event as both databases give it. */
export interface EventRow {
  readonly seq: number;
  readonly tenant_id: string;
  readonly at_ms: number;
  readonly action: Action;
  readonly actor: string;
  readonly execution_id: string;
  readonly body: string;
}

export const EVENT_COLUMNS = "seq, tenant_id, at_ms, action, actor, execution_id, body";

export function changesOf(rows: readonly EventRow[]): ExecutionChanges {
  const changes: ExecutionChanges = new Map();
  for (const {
    seq,
    tenant_id: tenantId,
    at_ms: at,
    action,
    actor,
    execution_id: executionId,
    body,
  } of rows) {
    const effect = project({ tenantId, at, action, actor, executionId, body });
    if (effect) apply(effect, executionId, seq, changes);
  }
  return changes;
}

export const ARCHIVED_MEANWHILE =
  "events were archived while history was being rebuilt; rebuild it again";
