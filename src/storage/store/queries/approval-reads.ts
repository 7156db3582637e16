// Reads approvals together with their votes: whole rows, or heads without what may be large.
import { sql, type Selectable } from "kysely";
import type { Database } from "../database.ts";
import type { ApprovalHead, ApprovalRow } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import { fromRow, HEAD_COLUMNS, headFrom, type FoundHead } from "./approval-rows.ts";

export type FoundApproval = Selectable<Tables["approvals"]>;
export type FoundVote = Selectable<Tables["approval_votes"]>;
export type ApprovalReads = ReturnType<typeof approvalReads>;

const BYTES = sql<number>`octet_length(arguments) + coalesce(octet_length(edited_arguments), 0)`.as(
  "bytes",
);

export function approvalReads({ kysely, history }: Pick<Database, "kysely" | "history">) {
  const select = () => kysely.selectFrom("approvals").selectAll();
  /** Of any number of rows: without what may be large. */
  const selectHeads = () => kysely.selectFrom("approvals").select(HEAD_COLUMNS).select(BYTES);
  /** For conditions on their executions. */
  const selectHeadsByHistory = () =>
    history.selectFrom("approvals").select(HEAD_COLUMNS).select(BYTES);
  const countPending = () =>
    kysely
      .selectFrom("approvals")
      .select((of) => of.fn.countAll().as("count"))
      .where("state", "=", sql.lit("pending"));
  const votesOf = (ids: readonly string[]) =>
    kysely
      .selectFrom("approval_votes")
      .selectAll()
      .where("approval_id", "in", ids)
      .orderBy("at_ms")
      .orderBy("user_id");

  async function heads(query: { execute(): Promise<FoundHead[]> }): Promise<ApprovalHead[]> {
    return withTheirVotes(await query.execute(), headFrom);
  }
  const withVotes = (found: readonly FoundApproval[]): Promise<ApprovalRow[]> =>
    withTheirVotes(found, fromRow);
  async function withTheirVotes<R extends { readonly id: string }, T>(
    found: readonly R[],
    from: (row: R, votes: readonly FoundVote[]) => T,
  ): Promise<T[]> {
    if (found.length === 0) return [];
    const votes = await votesOf(found.map((row) => row.id)).execute();
    const byId = Map.groupBy(votes, (vote) => vote.approval_id);
    return found.map((row) => from(row, byId.get(row.id) ?? []));
  }
  async function first(query: ReturnType<typeof select>): Promise<ApprovalRow | null> {
    return (await withVotes(await query.limit(1).execute()))[0] ?? null;
  }

  return {
    select,
    selectHeads,
    selectHeadsByHistory,
    countPending,
    votesOf,
    heads,
    withVotes,
    first,
  };
}
