// What a model reads before the newest message: who it is, and the branch of the conversation that is in use.
import type { ModelImage, ModelMessage } from "../../contract/powers/model.ts";
import type { MessageRow, Store } from "../../storage/store/store.ts";
import { messagesOf } from "../loop/loop.ts";
import { ABOUT_RESULTS } from "../loop/results.ts";
import { MAX_SHOWN } from "./pictures.ts";
import type { TurnStates } from "./turn-state.ts";

const ABOUT_AGENT =
  "You are an agent that people talk to through Ostiary. Use the tools you are given where they help, and no others: " +
  "asked what you can do, name only them.";
/** Messages of a session that are read at all. */
export const MAX_MESSAGES = 2_000;
/** Characters of history that a model is given; halved each time its context is too small. */
const HISTORY_CHARS = 200_000;

export interface Speaker {
  readonly prompt: string;
  readonly traits: Readonly<Record<string, string>>;
}

export function systemPrompt(capsulePrompt: string, persona: Speaker | null): string {
  const traits = Object.entries(persona?.traits ?? {}).map(([name, value]) => `${name}: ${value}`);
  return [
    ABOUT_AGENT,
    ABOUT_RESULTS,
    capsulePrompt,
    persona?.prompt ?? "",
    traits.length > 0 ? `Traits:\n${traits.join("\n")}` : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The branch that ends with this message, oldest first. */
export function branchTo(messages: readonly MessageRow[], headId: string | null): MessageRow[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const branch: MessageRow[] = [];
  for (let at = headId === null ? undefined : byId.get(headId); at;) {
    branch.unshift(at);
    at = at.parentId === null ? undefined : byId.get(at.parentId);
  }
  return branch;
}

/** The messages before the one that is answered, as the model reads them; the oldest leave first. */
export type MessagesBefore = (shortened: number) => readonly ModelMessage[];

export interface ConversationPowers {
  readonly store: Pick<Store, "messages" | "turns">;
  readonly states: TurnStates;
  readonly pictures: (ids: readonly string[]) => Promise<readonly ModelImage[]>;
}

/** The newest pictures are shown again, those of the message that is answered first of all. */
export async function loadConversation(
  sessionId: string,
  message: Pick<MessageRow, "parentId" | "assets">,
  { store, states, pictures }: ConversationPowers,
): Promise<MessagesBefore> {
  const all = await store.messages.list(sessionId, MAX_MESSAGES);
  const branch = branchTo(all, message.parentId);
  const turnIds = branch.flatMap(({ turnId }) => (turnId === null ? [] : [turnId]));
  const turns = await store.turns.list(sessionId, [...new Set(turnIds)]);
  const stateOf = new Map(turns.map((turn) => [turn.id, states.open(turn)]));
  let room = MAX_SHOWN - message.assets.length;
  const exchanges: (readonly ModelMessage[])[] = [];
  for (const row of branch.toReversed()) {
    const shown = row.role === "user" ? row.assets.slice(0, Math.max(0, room)) : [];
    room -= shown.length;
    const images = await pictures(shown);
    exchanges.unshift(exchangeOf(row, stateOf.get(row.turnId ?? "") ?? null, images));
  }
  return (shortened) => {
    let left = HISTORY_CHARS / 2 ** shortened;
    const kept: ModelMessage[] = [];
    for (const exchange of exchanges.toReversed()) {
      left -= exchange.reduce((sum, { content }) => sum + content.length, 0);
      if (left < 0) break;
      kept.unshift(...exchange);
    }
    return kept;
  };
}

/** A message of the person, or the whole turn that answered it. */
function exchangeOf(
  row: MessageRow,
  state: ReturnType<TurnStates["open"]>,
  images: readonly ModelImage[],
): readonly ModelMessage[] {
  if (row.role === "user") {
    const gone = row.assets.length - images.length;
    const text = state?.message ?? row.text;
    const content = gone > 0 ? `${text}\n\n(${gone} of the pictures not shown any more)` : text;
    return [{ role: "user", content, ...(images.length > 0 ? { images } : {}) }];
  }
  const steps = state?.steps ?? [];
  const isWhole = steps.some((step) => step.kind === "model" && step.calls.length === 0);
  return isWhole ? messagesOf(steps, 0) : [{ role: "assistant", content: row.text }];
}
