import { unique, type Database } from "../database.ts";
import type { SignInRow, SignInsTable, SignInStore } from "../rows/sign-in.ts";
import { columns } from "./columns.ts";

const SIGN_IN = columns<SignInRow, SignInsTable>([
  "id",
  "tenantId",
  "userId",
  "keyId",
  "parentId",
  "secretHash",
  "createdAt",
  "seenAt",
  "endedAt",
  "endedBy",
]);

export function signIns({ kysely }: Database): SignInStore {
  const all = () => kysely.selectFrom("sign_ins").selectAll();
  return {
    async create(row) {
      await unique("sign-in", () =>
        kysely.insertInto("sign_ins").values(SIGN_IN.toRow(row)).execute(),
      );
    },
    async get(id) {
      const row = await all().where("id", "=", id).executeTakeFirst();
      return row ? SIGN_IN.fromRow(row) : null;
    },
    async bySecret(secretHash) {
      const row = await all().where("secret_hash", "=", secretHash).executeTakeFirst();
      return row ? SIGN_IN.fromRow(row) : null;
    },
    async open({ tenantId, userId, seenAfter, createdAfter }, limit) {
      const ofTenant = all()
        .where("tenant_id", "=", tenantId)
        .where("ended_at", "is", null)
        .where("seen_at", ">", seenAfter)
        .where("created_at", ">", createdAfter);
      const found = userId === undefined ? ofTenant : ofTenant.where("user_id", "=", userId);
      const rows = await found.orderBy("created_at", "desc").orderBy("id").limit(limit).execute();
      return rows.map(SIGN_IN.fromRow);
    },
    async touch(id, at) {
      await kysely.updateTable("sign_ins").set({ seen_at: at }).where("id", "=", id).execute();
    },
    async end(id, by, at) {
      const rows = await kysely
        .updateTable("sign_ins")
        .set({ ended_at: at, ended_by: by })
        .where("id", "=", id)
        .where("ended_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
  };
}
