// Plans of sessions. Whoever asks is part of every condition.
import { isDuplicate, type Database } from "../database.ts";
import type { PlanRow, Store } from "../store.ts";
import type { PlansTable } from "../tables/work.ts";
import { columns } from "./columns.ts";

const PLAN = columns<PlanRow, PlansTable>(
  ["tenantId", "userId", "place", "id", "version", "goal", "phases", "currentPhaseId", "updatedAt"],
  { json: ["phases"] },
);

export function plans({ kysely }: Database): Store["plans"] {
  return {
    async get({ tenantId, userId }, place) {
      const row = await kysely
        .selectFrom("plans")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .where("place", "=", place)
        .executeTakeFirst();
      return row ? PLAN.fromRow(row) : null;
    },
    async save(plan, fromVersion) {
      const row = PLAN.toRow(plan);
      if (fromVersion > 0) {
        const saved = await kysely
          .updateTable("plans")
          .set(row)
          .where("tenant_id", "=", plan.tenantId)
          .where("user_id", "=", plan.userId)
          .where("place", "=", plan.place)
          .where("version", "=", fromVersion)
          .returning("id")
          .execute();
        return saved.length > 0;
      }
      try {
        await kysely.insertInto("plans").values(row).execute();
        return true;
      } catch (cause) {
        if (isDuplicate(cause)) return false;
        throw cause;
      }
    },
  };
}
