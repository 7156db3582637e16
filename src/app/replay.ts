// Judges recorded calls of a tenant again, newest first, under draft rules.
import type { Doors } from "../server/doors.ts";
import { recordedPolicyInput, replay } from "../core/engine/replay.ts";
import type { Caller } from "../contract/call.ts";
import type { GatePowers } from "../core/gate/index.ts";
import type { AuditedRecord } from "../core/record/history.ts";
import type { Store } from "../storage/store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Engines } from "./engines.ts";

export interface ReplayPowers {
  readonly executions: Pick<Store["executions"], "list">;
  /** Of the rule that decides. */
  readonly policyPath: string;
  readonly auditedOf: (caller: Caller, executionId: string) => Promise<AuditedRecord | null>;
  readonly registry: Registry;
  readonly gate: GatePowers;
  readonly draft: Engines["draft"];
}

const PAGE = 20;

export const replayer =
  (p: ReplayPowers): Doors["replay"] =>
  async (caller, { files, from, last }) => {
    const draft = { ...p.gate, ...(await p.draft(files)) };
    return replay(newest(p, caller.tenantId, { from, last }), p.registry, p.gate, draft);
  };

/** Newest calls that are looked at for one whose question can be put again. */
const LOOK_AT = 20;

/** What the policy is asked about a recorded call: of that id, or the newest one. */
export const policyQuestions =
  (p: ReplayPowers): Doors["policyQuestion"] =>
  async (caller, executionId) => {
    const { policyPath: path, registry, gate } = p;
    const tools = Object.fromEntries(
      registry.all().map(({ name, enabled }) => [name, { enabled }]),
    );
    const records =
      executionId === null
        ? await p.executions.list({ tenantId: caller.tenantId }, { limit: LOOK_AT })
        : [await p.auditedOf(caller, executionId)];
    for (const record of records) {
      const input = record && recordedPolicyInput(record, registry, gate.governance);
      if (input) return { path, tools, executionId: record.id, input };
    }
    const isKnown = executionId !== null && records[0] !== null;
    return { path, tools, executionId: isKnown ? executionId : null, input: null };
  };

/** Read in pages, since records may be large. */
async function* newest(
  { executions }: ReplayPowers,
  tenantId: string,
  { from, last }: { from: number; last: number },
): AsyncGenerator<AuditedRecord> {
  let oldest: AuditedRecord | undefined;
  for (let left = last; left > 0;) {
    const limit = Math.min(PAGE, left);
    const page = await executions.list(
      { tenantId, from },
      { limit, ...(oldest ? { after: oldest } : {}) },
    );
    yield* page;
    oldest = page.at(-1);
    left -= page.length;
    if (page.length < limit) return;
  }
}
