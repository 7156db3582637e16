// Judges recorded calls of a tenant again, newest first, under draft rules.
import type { Doors } from "../server/doors.ts";
import { replay } from "../core/engine/replay.ts";
import type { GatePowers } from "../core/gate/index.ts";
import type { AuditedRecord } from "../core/record/history.ts";
import type { Store } from "../storage/store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Engines } from "./engines.ts";

export interface ReplayPowers {
  readonly executions: Pick<Store["executions"], "list">;
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
