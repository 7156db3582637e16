// Recorded calls of a tenant, newest first, asked again under rules that are only tried out.
import type { Doors } from "../entry/doors.ts";
import { replay } from "../engine/replay.ts";
import type { GatePowers } from "../gate/index.ts";
import type { AuditedRecord } from "../record/history.ts";
import type { Store } from "../store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Engines } from "./engines.ts";

export interface ReplayPowers {
  readonly executions: Pick<Store["executions"], "list">;
  readonly registry: Registry;
  readonly gate: GatePowers;
  readonly draft: Engines["draft"];
}

const PAGE = 100;

export const replayer =
  (p: ReplayPowers): Doors["replay"] =>
  async (caller, { files, from, last }) => {
    const draft = { ...p.gate, ...(await p.draft(files)) };
    const records: AuditedRecord[] = [];
    for (;;) {
      const limit = Math.min(PAGE, last - records.length);
      const oldest = records.at(-1);
      const page =
        limit === 0
          ? []
          : await p.executions.list(
              { tenantId: caller.tenantId, from },
              { limit, ...(oldest ? { after: oldest } : {}) },
            );
      records.push(...page);
      if (page.length < limit || limit === 0) break;
    }
    return replay(records, p.registry, p.gate, draft);
  };
