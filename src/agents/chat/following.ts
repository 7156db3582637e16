// Follows turns that were sent: shows, awaits, watches and stops them.
import type { Caller } from "../../contract/call.ts";
import type { TurnRow } from "../../storage/store/store.ts";
import type { Chat, ChatPowers, TurnView } from "./chat.ts";
import { waitAtMost } from "../../util/async/wait.ts";
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
          await waitAtMost(promise, Math.min(left, POLL_MS), signal);
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
          // Events of a turn on another instance do not arrive here: its row shows when it has ended.
          if (queue.length === 0) isOver = (await requireTurn(caller, turnId)).endedAt !== null;
          const events = queue.splice(0);
          for (const event of events) {
            const { questionId } = event.data;
            if (event.event === "question" && typeof questionId === "string")
              await p.asked.questions.presented([questionId], p.now());
            yield event;
          }
          if (isOver || events.at(-1)?.event === "end") return;
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          if (queue.length === 0) await waitAtMost(promise, POLL_MS, signal);
        }
      } finally {
        off();
      }
    },
  };
}
