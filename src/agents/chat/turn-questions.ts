// Questions that a call of a turn asks the person: sent to those who follow the turn, shown with its state.
import type { Call } from "../../contract/call.ts";
import type { QuestionRow, Store, TurnRow } from "../../storage/store/store.ts";
import type { TurnEvent } from "./turn-events.ts";

/** More than a person is ever asked at once. */
const MOST = 50;

/** The turn whose call asks, and the event of the question; null: it was not asked in a chat. */
export function questionEvent(
  { entry, metadata }: Pick<Call, "entry" | "metadata">,
  { id, question, context, options, expiresAt }: QuestionRow,
): { readonly turnId: string; readonly event: TurnEvent } | null {
  const turnId = entry === "chat" ? metadata?.["turnId"] : null;
  if (typeof turnId !== "string") return null;
  const until = new Date(expiresAt).toISOString();
  const data = { questionId: id, question, context, options, expiresAt: until };
  return { turnId, event: { event: "question", data } };
}

/** Those that wait for an answer. Looking at them shows them. */
export async function openQuestions(
  turn: TurnRow,
  { questions, executions }: Pick<Store, "questions" | "executions">,
  now: number,
): Promise<readonly QuestionRow[]> {
  if (turn.endedAt !== null) return [];
  const { tenantId, userId, id } = turn;
  const open = await questions.list({ tenantId, userId, state: "pending" }, MOST);
  const askers = await Promise.all(open.map(({ executionId }) => executions.get(executionId)));
  const mine = open.filter((row, at) => {
    const asker = askers[at];
    return asker?.entry === "chat" && asker.metadata?.["turnId"] === id && row.expiresAt > now;
  });
  await questions.presented(
    mine.map((row) => row.id),
    now,
  );
  return mine;
}
