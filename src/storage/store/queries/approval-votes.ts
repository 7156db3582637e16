// A vote on an approval: one batch behind a guard, so that of votes that cross each other each is counted once.
import { sql, type Expression, type SqlBool } from "kysely";
import { guard, isDuplicate, isGuarded, type Database } from "../database.ts";
import type { ApprovalRow, Store } from "../store.ts";
import type { Row } from "../sqlite/writer-client.ts";
import type { ApprovalReads, FoundApproval, FoundVote } from "./approval-reads.ts";
import { epoch, fromRow, UNSEALED } from "./approval-rows.ts";

type VoteArguments = Parameters<Store["approvals"]["vote"]>;
type Vote = VoteArguments[1];
type Edit = VoteArguments[2];
type SeenBinding = VoteArguments[3];

/** The approval as it is after the vote; null when the vote was not allowed. */
export async function castVote(
  { kysely, batch }: Pick<Database, "kysely" | "batch">,
  reads: Pick<ApprovalReads, "select" | "votesOf">,
  [id, vote, edit, seen]: VoteArguments,
): Promise<ApprovalRow | null> {
  // Takes the row first: a statement that would end it meanwhile waits until the vote is counted.
  const take = kysely
    .updateTable("approvals")
    .set({ state: sql`state` })
    .where("id", "=", id);
  const insert = kysely.insertInto("approval_votes").values({
    approval_id: id,
    user_id: vote.userId,
    decision: vote.decision,
    comment: vote.comment,
    at_ms: vote.at,
  });
  const startOver = kysely
    .deleteFrom("approval_votes")
    .where("approval_id", "=", id)
    .where("user_id", "<>", vote.userId);
  const update = kysely
    .updateTable("approvals")
    .set({ ...(edit && editedColumns(edit)), ...decidedColumns(id, vote) })
    .where("id", "=", id);
  const write = [
    take,
    guard(kysely, mayNotVote(id, vote, seen)),
    insert,
    ...(edit ? [startOver] : []),
    update,
  ];
  let results: Row[][];
  try {
    results = await batch([...write, reads.select().where("id", "=", id), reads.votesOf([id])]);
  } catch (cause) {
    // Not theirs or not open (the guard), or voted before (the key of the votes).
    if (isGuarded(cause) || isDuplicate(cause)) return null;
    throw cause;
  }
  const [[row] = [], votes = []] = results.slice(-2) as unknown as [FoundApproval[], FoundVote[]];
  return row ? fromRow(row, votes) : null;
}

/** Not open, not theirs to decide, or changed since they looked. */
function mayNotVote(id: string, vote: Vote, seen: SeenBinding): Expression<SqlBool> {
  const whose = vote.self
    ? sql`requester = ${vote.userId} and needed = 1`
    : sql`requester <> ${vote.userId}`;
  const unchanged = seen === undefined ? sql`` : sql`and binding = ${seen}`;
  return sql<SqlBool>`not exists (select 1 from approvals where id = ${id} and state = 'pending'
    and expires_at > ${vote.at} and ${whose} ${unchanged})`;
}

const editedColumns = (edit: NonNullable<Edit>) => ({
  edited_arguments: JSON.stringify(edit.arguments),
  edited_sealed: edit.sealed,
  binding: edit.binding,
});

function decidedColumns(id: string, vote: Vote) {
  if (vote.decision !== "approve")
    return { ...UNSEALED, state: "declined", decided_at: vote.at } as const;
  const agreed = sql`(select count(*) from approval_votes where approval_id = ${id})`;
  return {
    state: sql<ApprovalRow["state"]>`case when ${agreed} >= needed then 'approved' else state end`,
    decided_at: sql<number>`case when ${agreed} >= needed then ${epoch(vote.at)} else decided_at end`,
  };
}
