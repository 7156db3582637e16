import type { Selectable } from "kysely";
import { unique, type Database } from "../database.ts";
import type { StandingRuleRow, Store } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

export function standingRules({ kysely }: Database): Store["standingRules"] {
  return {
    async create(rule) {
      const row = {
        id: rule.id,
        tenant_id: rule.tenantId,
        user_id: rule.userId,
        tool_name: rule.toolName,
        tool_pin: rule.toolPin,
        matches: JSON.stringify(rule.matches),
        from_approval: rule.fromApproval,
        created_by: rule.createdBy,
        created_at: rule.createdAt,
        expires_at: rule.expiresAt,
        revoked_at: rule.revokedAt,
      };
      await unique("rule", () => kysely.insertInto("standing_rules").values(row).execute());
    },
    async active(tenantId, now) {
      const rows = await kysely
        .selectFrom("standing_rules")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("revoked_at", "is", null)
        .where("expires_at", ">", now)
        .orderBy("id")
        .execute();
      return rows.map(fromRow);
    },
    async get(id) {
      const row = await kysely
        .selectFrom("standing_rules")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? fromRow(row) : null;
    },
    async revoke(id, at) {
      const rows = await kysely
        .updateTable("standing_rules")
        .set({ revoked_at: at })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
  };
}

function fromRow(row: Selectable<Tables["standing_rules"]>): StandingRuleRow {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    toolName: row.tool_name,
    toolPin: row.tool_pin,
    matches: JSON.parse(row.matches) as StandingRuleRow["matches"],
    fromApproval: row.from_approval,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}
