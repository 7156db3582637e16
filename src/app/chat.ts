// Opens conversations: sessions, the turns that run in the background, and those that a crash left behind.
import { createChat, type Chat } from "../agents/chat/chat.ts";
import { createIntern } from "../agents/chat/session.ts";
import { createTurnEvents } from "../agents/chat/turn-events.ts";
import { questionEvent } from "../agents/chat/turn-questions.ts";
import { createTurnStates } from "../agents/chat/turn-state.ts";
import { createTurns } from "../agents/chat/turns.ts";
import type { Base } from "./base.ts";
import type { EngineParts, OpenedEngine } from "./engine.ts";
import { outsideOf } from "./outside.ts";

/** How soon a turn is resumed when its instance has died. */
const TAKE_OVER_EVERY_MS = 1_000;

export function openChat(base: Base, parts: EngineParts & { readonly engine: OpenedEngine }): Chat {
  const { config, store, dataDir, closing, ids, now } = base;
  const { record, identity, limits, reach, engine } = parts;
  const powers = {
    store,
    states: createTurnStates(base.serverSecret),
    events: createTurnEvents(),
    intern: createIntern(),
    assets: reach.powers.assets,
    engine: () => engine.engine,
    model: reach.powers.model,
    hasModel: reach.powers.hasModel,
    use: limits.modelUse,
    callerAgain: identity.identity.again,
    watch: engine.standing.watch,
    onEnded: engine.standing.ended,
    note: record.note,
    masker: record.masker,
    isOutside: outsideOf(config.workspace),
    instanceId: dataDir.instanceId,
    ids,
    now,
    background: record.background,
    log: record.log,
  };
  const turns = createTurns(powers);
  const unheard = reach.powers.questions.onAsked((call, row) => {
    const asked = questionEvent(call, row);
    if (asked) powers.events.emit(asked.turnId, asked.event);
  });
  closing.defer(() => void unheard());
  const takeOver = (): void => record.background(turns.takeOver());
  const timer = setInterval(takeOver, TAKE_OVER_EVERY_MS).unref();
  // What this instance left behind waits for nobody else.
  record.background(store.turns.letGo(dataDir.instanceId).then(takeOver));
  closing.defer(async () => {
    clearInterval(timer);
    await turns.close();
  });
  return createChat({
    ...powers,
    turns,
    asked: store,
    idleSeconds: config.server.sessionTimeoutSeconds,
  });
}
