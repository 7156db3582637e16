// Sessions, messages, turns and assets. The owner is part of every condition.
import { sql, type Compilable, type SqlBool } from "kysely";
import { guard, isGuarded, unique, type Database } from "../database.ts";
import type {
  AssetReader,
  AssetRow,
  ConversationOwner,
  MessageRow,
  SessionRow,
  Store,
  TurnRow,
} from "../store.ts";
import type {
  AssetsTable,
  MessagesTable,
  SessionsTable,
  TurnsTable,
} from "../tables/conversation.ts";
import { columns } from "./columns.ts";

const SESSION = columns<SessionRow, SessionsTable>(
  [
    "id",
    "tenantId",
    "userId",
    "capsuleId",
    "personaId",
    "role",
    "title",
    "preferences",
    "idleSeconds",
    "headId",
    "turnId",
    "taint",
    "createdAt",
    "lastSeenAt",
    "endedAt",
  ],
  { json: ["preferences", "taint"] },
);
const MESSAGE = columns<MessageRow, Omit<MessagesTable, "sought">>(
  ["id", "tenantId", "sessionId", "parentId", "role", "text", "assets", "turnId", "createdAt"],
  { json: ["assets"] },
);
const TURN = columns<TurnRow, TurnsTable>(
  [
    "id",
    "tenantId",
    "userId",
    "sessionId",
    "messageId",
    "replyId",
    "status",
    "phase",
    "model",
    "sealed",
    "error",
    "mandate",
    "trace",
    "ip",
    "workedMs",
    "startedAt",
    "endedAt",
    "stopRequestedAt",
    "instanceId",
    "lease",
    "leasedUntil",
  ],
  { json: ["error", "mandate", "trace"] },
);
const ASSET = columns<AssetRow, Omit<AssetsTable, "content">>([
  "id",
  "tenantId",
  "userId",
  "sessionId",
  "executionId",
  "name",
  "mime",
  "size",
  "sha256",
  "createdAt",
]);
const ASSET_COLUMNS = [
  "id",
  "tenant_id",
  "user_id",
  "session_id",
  "execution_id",
  "name",
  "mime",
  "size",
  "sha256",
  "created_at",
] as const;

const messageValues = (row: MessageRow): MessagesTable => ({
  ...MESSAGE.toRow(row),
  sought: row.text.toLowerCase(),
});

/** A text as part of a LIKE pattern, with its own wildcards taken literally. */
const containing = (text: string): string =>
  `%${text.toLowerCase().replaceAll(/[\\%_]/g, (found) => `\\${found}`)}%`;

export function sessions({ kysely, batch }: Database): Store["sessions"] {
  const owned = ({ tenantId, userId }: ConversationOwner) =>
    kysely
      .selectFrom("sessions")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("user_id", "=", userId);
  return {
    async create(row) {
      await unique("session", () =>
        kysely.insertInto("sessions").values(SESSION.toRow(row)).execute(),
      );
    },
    async get(owner, id) {
      const row = await owned(owner).where("id", "=", id).executeTakeFirst();
      return row ? SESSION.fromRow(row) : null;
    },
    async list(owner, { search, includeEnded }, { limit, before }) {
      let query = owned(owner);
      if (!includeEnded) query = query.where("ended_at", "is", null);
      if (search !== "") {
        const part = containing(search);
        query = query.where(
          sql<SqlBool>`(lower(title) like ${part} escape '\\' or id in (select session_id from messages where sought like ${part} escape '\\'))`,
        );
      }
      if (before)
        query = query.where(
          sql<SqlBool>`(last_seen_at < ${before.lastSeenAt} or (last_seen_at = ${before.lastSeenAt} and id < ${before.id}))`,
        );
      const rows = await query
        .orderBy("last_seen_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.map(SESSION.fromRow);
    },
    async update(id, change) {
      await kysely
        .updateTable("sessions")
        .set(SESSION.toChange(change))
        .where("id", "=", id)
        .execute();
    },
    async remove(owner, id) {
      if (!(await owned(owner).where("id", "=", id).executeTakeFirst())) return false;
      await batch([
        kysely.deleteFrom("assets").where("session_id", "=", id),
        kysely.deleteFrom("turns").where("session_id", "=", id),
        kysely.deleteFrom("messages").where("session_id", "=", id),
        kysely.deleteFrom("sessions").where("id", "=", id),
      ]);
      return true;
    },
  };
}

export function messages({ kysely }: Database): Store["messages"] {
  return {
    async get(sessionId, id) {
      const row = await kysely
        .selectFrom("messages")
        .selectAll()
        .where("session_id", "=", sessionId)
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? MESSAGE.fromRow(row) : null;
    },
    async list(sessionId, limit) {
      const rows = await kysely
        .selectFrom("messages")
        .selectAll()
        .where("session_id", "=", sessionId)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute();
      return rows.toReversed().map(MESSAGE.fromRow);
    },
    async search({ tenantId, userId }, text, limit) {
      const rows = await kysely
        .selectFrom("messages")
        .innerJoin("sessions", "sessions.id", "messages.session_id")
        .selectAll("messages")
        .select("sessions.title as title")
        .where("sessions.tenant_id", "=", tenantId)
        .where("sessions.user_id", "=", userId)
        .where(sql<SqlBool>`messages.sought like ${containing(text)} escape '\\'`)
        .orderBy("messages.created_at", "desc")
        .orderBy("messages.id", "desc")
        .limit(limit)
        .execute();
      return rows.map((row) => ({ ...MESSAGE.fromRow(row), title: row.title }));
    },
  };
}

type Turns = Store["turns"];

export function turns(database: Database): Turns {
  return { ...turnReads(database), ...turnLeases(database), ...turnChanges(database) };
}

/** The turn while this lease holds it. */
const held = ({ kysely }: Pick<Database, "kysely">, id: string, lease: number) =>
  kysely
    .updateTable("turns")
    .where("id", "=", id)
    .where("lease", "=", lease)
    .where("ended_at", "is", null);

const first = (rows: TurnsTable[]): TurnRow | null => (rows[0] ? TURN.fromRow(rows[0]) : null);

/** A turn begins and ends together with its messages and its session. */
function turnChanges({ kysely, batch }: Database): Pick<Turns, "begin" | "save" | "end"> {
  /**
   * False where the condition of the batch did not hold. One batch after the other per session: what the guard has
   * seen holds until the writes are done.
   */
  const allOrNothing = async (
    sessionOrTurn: string,
    statements: readonly Compilable[],
  ): Promise<boolean> => {
    try {
      await batch(statements, `conversation ${sessionOrTurn}`);
      return true;
    } catch (cause) {
      if (isGuarded(cause)) return false;
      throw cause;
    }
  };
  return {
    begin(row, message) {
      const { sessionId, messageId, startedAt } = row;
      return allOrNothing(sessionId, [
        guard(
          kysely,
          sql<SqlBool>`not exists (select 1 from sessions where id = ${sessionId} and turn_id is null)`,
        ),
        kysely
          .updateTable("sessions")
          .set({ turn_id: row.id, head_id: messageId, last_seen_at: startedAt })
          .where("id", "=", sessionId),
        ...(message ? [kysely.insertInto("messages").values(messageValues(message))] : []),
        kysely.insertInto("turns").values(TURN.toRow(row)),
      ]);
    },
    async save(id, lease, change) {
      const rows = await held({ kysely }, id, lease)
        .set(TURN.toChange(change))
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    end(id, lease, change, reply) {
      const isOver = sql<SqlBool>`not exists (select 1 from turns where id = ${id} and lease = ${lease} and ended_at is null)`;
      // Another instance may take the turn over between the first look and the write.
      const missed = sql<SqlBool>`not exists (select 1 from turns where id = ${id} and lease = ${lease} and ended_at is not null)`;
      return allOrNothing(id, [
        guard(kysely, isOver),
        held({ kysely }, id, lease).set(TURN.toChange(change)),
        guard(kysely, missed),
        ...(reply ? [kysely.insertInto("messages").values(messageValues(reply))] : []),
        kysely
          .updateTable("sessions")
          .set({
            turn_id: null,
            last_seen_at: change.endedAt,
            ...(reply ? { head_id: reply.id } : {}),
          })
          .where("turn_id", "=", id),
      ]);
    },
  };
}

function turnReads({ kysely }: Database): Pick<Turns, "get" | "list" | "free"> {
  return {
    async get({ tenantId, userId }, id) {
      return first(
        await kysely
          .selectFrom("turns")
          .selectAll()
          .where("tenant_id", "=", tenantId)
          .where("user_id", "=", userId)
          .where("id", "=", id)
          .execute(),
      );
    },
    async list(sessionId, ids) {
      if (ids.length === 0) return [];
      const rows = await kysely
        .selectFrom("turns")
        .selectAll()
        .where("session_id", "=", sessionId)
        .where("id", "in", ids)
        .execute();
      return rows.map(TURN.fromRow);
    },
    async free(now, limit) {
      const rows = await kysely
        .selectFrom("turns")
        .selectAll()
        .where("ended_at", "is", null)
        .where("leased_until", "<=", now)
        .orderBy("leased_until")
        .limit(limit)
        .execute();
      return rows.map(TURN.fromRow);
    },
  };
}

/** Which instance works on a turn, and until when. */
function turnLeases({ kysely }: Database): Pick<Turns, "renew" | "take" | "letGo" | "requestStop"> {
  return {
    async renew(id, lease, until) {
      const [row] = await held({ kysely }, id, lease)
        .set({ leased_until: until })
        .returning("stop_requested_at")
        .execute();
      return row ? { stop: row.stop_requested_at !== null } : null;
    },
    async take(id, lease, instanceId, until) {
      return first(
        await held({ kysely }, id, lease)
          .set({ lease: lease + 1, instance_id: instanceId, leased_until: until })
          .returningAll()
          .execute(),
      );
    },
    async letGo(instanceId) {
      const rows = await kysely
        .updateTable("turns")
        .set({ leased_until: 0 })
        .where("instance_id", "=", instanceId)
        .where("ended_at", "is", null)
        .returning("id")
        .execute();
      return rows.length;
    },
    async requestStop(id, at) {
      const rows = await kysely
        .updateTable("turns")
        .set({ stop_requested_at: at })
        .where("id", "=", id)
        .where("ended_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
  };
}

export function assets({ kysely, batch }: Database): Store["assets"] {
  const seen = ({ tenantId, userId }: AssetReader) => {
    const rows = kysely
      .selectFrom("assets")
      .select(ASSET_COLUMNS)
      .where("tenant_id", "=", tenantId);
    return userId === undefined ? rows : rows.where("user_id", "=", userId);
  };
  return {
    async put(row, bytes, mostBytes) {
      const { tenantId, userId, size } = row;
      const tooMuch = sql<SqlBool>`(select coalesce(sum(size), 0) from assets where tenant_id = ${tenantId} and user_id = ${userId}) > ${sql.lit(mostBytes - size)}`;
      const insert = kysely.insertInto("assets").values({ ...ASSET.toRow(row), content: bytes });
      try {
        await unique("asset", () => batch([guard(kysely, tooMuch), insert]));
        return true;
      } catch (cause) {
        if (isGuarded(cause)) return false;
        throw cause;
      }
    },
    async get(reader, id) {
      const row = await seen(reader).where("id", "=", id).executeTakeFirst();
      return row ? ASSET.fromRow(row) : null;
    },
    async bytes(id) {
      const row = await kysely
        .selectFrom("assets")
        .select("content")
        .where("id", "=", id)
        .executeTakeFirst();
      return row?.content ?? null;
    },
    async list(reader, { limit, after = "", sessionId }) {
      let query = seen(reader).where("id", ">", after);
      if (sessionId !== undefined) query = query.where("session_id", "=", sessionId);
      return (await query.orderBy("id").limit(limit).execute()).map(ASSET.fromRow);
    },
    async remove({ tenantId, userId }, id) {
      let query = kysely.deleteFrom("assets").where("tenant_id", "=", tenantId);
      if (userId !== undefined) query = query.where("user_id", "=", userId);
      return (await query.where("id", "=", id).returning("id").execute()).length > 0;
    },
    async used({ tenantId, userId }) {
      const row = await kysely
        .selectFrom("assets")
        .select(({ fn }) => fn.sum<number | string | null>("size").as("bytes"))
        .where("tenant_id", "=", tenantId)
        .where("user_id", "=", userId)
        .executeTakeFirst();
      return Number(row?.bytes ?? 0);
    },
  };
}
