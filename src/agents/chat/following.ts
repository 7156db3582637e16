// Follows turns that were sent: shows, awaits, watches and stops them.
import type { Caller } from "../../contract/call.ts";
import type { TurnRow } from "../../storage/store/store.ts";
import type { Chat, ChatPowers, TurnView } from "./chat.ts";
import { notFound, requireSession } from "./session.ts";
import type { TurnEvent } from "./turn-events.ts";
import { openQuestions } from "./turn-questions.ts";

const POLL_MS = 250;

export function createFollowing(p: ChatPowers): Pick<Chat, "stop" | "turn" | "wait" | "watch"> {
  const { store } = p;

  const requireTurn = async (caller: Caller, turnId: string): Promise<TurnRow> => {
    const turn = await store.turns.get(caller, turnId);
    if (turn) return turn;
    throw notFound("turn", turnId, "use the id that the chat gave");
  };

  const viewOf = async (turn: TurnRow): Promise<TurnView> => ({
    turn,
    state: p.states.open(turn) ?? { message: "", steps: [] },
    reply: turn.replyId === null ? null : await store.messages.get(turn.sessionId, turn.replyId),
    questions: await openQuestions(turn, p.asked, p.now()),
  });

  return {
    async stop(caller, sessionId) {
      const { turnId } = await requireSession(caller, sessionId, p);
      if (turnId === null || !(await store.turns.requestStop(turnId, p.now()))) return null;
      p.turns.abort(turnId);
      return requireTurn(caller, turnId);
    },
    turn: async (caller, turnId) => viewOf(await requireTurn(caller, turnId)),
    async wait(caller, turnId, { ms, untilHeld, signal }) {
      const until = performance.now() + ms;
      let wake = (): void => undefined;
      let isAsking = false;
      const off = p.events.on(turnId, ({ event }) => {
        if (event === "question") isAsking = true;
        if (event === "end" || event === "waiting" || event === "question") wake();
      });
      try {
        for (;;) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          const turn = await requireTurn(caller, turnId);
          const isHeld =
            turn.status === "waiting" ||
            (isAsking && (await openQuestions(turn, p.asked, p.now())).length > 0);
          const isOver = turn.endedAt !== null || (untilHeld && isHeld);
          const left = until - performance.now();
          if (isOver || left <= 0 || signal.aborted) return await viewOf(turn);
          await oneOf(promise, Math.min(left, POLL_MS), signal);
        }
      } finally {
        off();
      }
    },
    async *watch(caller, turnId, signal) {
      const queue: TurnEvent[] = [];
      let wake = (): void => undefined;
      const off = p.events.on(turnId, (event) => {
        queue.push(event);
        wake();
      });
      try {
        for (let isOver = false; !isOver && !signal.aborted;) {
          // Of a turn on another instance nothing is heard here: its row says when it has ended.
          if (queue.length === 0) isOver = (await requireTurn(caller, turnId)).endedAt !== null;
          const heard = queue.splice(0);
          for (const event of heard) {
            const { questionId } = event.data;
            if (event.event === "question" && typeof questionId === "string")
              await p.asked.questions.presented([questionId], p.now());
            yield event;
          }
          if (isOver || heard.at(-1)?.event === "end") return;
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          if (queue.length === 0) await oneOf(promise, POLL_MS, signal);
        }
      } finally {
        off();
      }
    },
  };
}

async function oneOf(work: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = (): void => resolve();
  signal.addEventListener("abort", wake, { once: true });
  await Promise.race([work, promise]);
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
