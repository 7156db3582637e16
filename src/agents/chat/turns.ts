// Runs turns: one in the background per message, saved step by step under a lease, so that another instance or the
// next start goes on where this one stopped.
import { mandateOf, type Caller, type JsonObject, type Trace } from "../../contract/call.ts";
import { faultOf, type Fault } from "../../contract/errors.ts";
import type { Generated, GenerateRequest, ModelImage } from "../../contract/powers/model.ts";
import { readBy, type TaintSource } from "../../contract/taint.ts";
import type { ModelUse } from "../../governance/limits/model-use.ts";
import type {
  Action,
  MessageRow,
  SessionRow,
  TurnChange,
  TurnRow,
  TurnStep,
} from "../../storage/store/store.ts";
import type { Assets } from "../../storage/assets/assets.ts";
import type { Ids } from "../../util/ids.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import { contextOf } from "../../util/trace.ts";
import type { AgentModel, AgentsEngine } from "../agents.ts";
import { aboutAnswer, auditedText } from "../audited-text.ts";
import {
  inputTokens,
  runLoop,
  type LoopAnswer,
  type LoopEnd,
  type LoopWork,
} from "../loop/loop.ts";
import { loadConversation, systemPrompt, type MessagesBefore } from "./context.ts";
import { answerDirectly, isCommand, type DirectEngine } from "./direct.ts";
import { keepPictures, readPictures } from "./pictures.ts";
import { partsOf, type SessionParts, type SessionPowers } from "./session.ts";
import type { Phase } from "./phases.ts";
import type { TurnEvents } from "./turn-events.ts";
import type { TurnStates } from "./turn-state.ts";
import { createStopwatch, type Stopwatch } from "./stopwatch.ts";

export interface TurnsPowers extends SessionPowers {
  readonly states: TurnStates;
  readonly assets: Assets;
  readonly events: TurnEvents;
  readonly engine: () => AgentsEngine & DirectEngine;
  readonly model: AgentModel;
  /** Is there a model that answers in this tenant? */
  readonly hasModel: (tenantId: string) => Promise<boolean>;
  readonly use: ModelUse;
  readonly callerAgain: (mandate: TurnRow["mandate"]) => Promise<Caller | null>;
  readonly watch: (caller: Caller, changed: (now: Caller | null) => void) => () => void;
  /** Called when a turn has ended: approvals that wait on its behalf are closed. */
  readonly onEnded: () => void;
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  readonly masker: Pick<Masker, "text">;
  /** Is this path outside of the workspaces? */
  readonly isOutside: (path: string) => boolean;
  readonly instanceId: string;
  readonly ids: Ids;
  readonly background: (work: Promise<unknown>) => void;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export interface Turns {
  /** Begins to work on a turn that was just written; resolves at its end. */
  run(turn: TurnRow): Promise<void>;
  /** Stops it here, if it runs here. */
  abort(turnId: string): void;
  /** Takes over turns whose instance is gone; answers how many. */
  takeOver(): Promise<number>;
  /** Leaves what runs to the next start. */
  close(): Promise<void>;
}

const LEASE_MS = 5_000;
const RENEW_EVERY_MS = 1_000;
const TAKEN_AT_ONCE = 20;
const DEFAULTS = { rounds: 25, toolCalls: 100, turnSeconds: 900, maxTokens: 4_096 };
/** The smallest answer worth asking for. */
const LEAST_TOKENS = 256;

export function createTurns(p: TurnsPowers): Turns {
  const live = new Map<string, { controller: AbortController; ended: Promise<void> }>();

  async function run(turn: TurnRow): Promise<void> {
    const controller = new AbortController();
    const over = Promise.withResolvers<void>();
    live.set(turn.id, { controller, ended: over.promise });
    const leave = keepLease(turn, controller, p);
    try {
      await runTurn(turn, controller, p);
    } catch (cause) {
      p.log.error({ err: cause, turnId: turn.id }, "a turn could not be run");
    } finally {
      leave();
      live.delete(turn.id);
      over.resolve();
      p.onEnded();
    }
  }

  return {
    run,
    abort: (turnId) => live.get(turnId)?.controller.abort("user"),
    async takeOver() {
      const free = await p.store.turns.free(p.now(), TAKEN_AT_ONCE);
      let taken = 0;
      for (const { id, lease } of free) {
        if (live.has(id)) continue;
        const turn = await p.store.turns.take(id, lease, p.instanceId, p.now() + LEASE_MS);
        if (!turn) continue;
        taken++;
        p.background(run(turn));
      }
      return taken;
    },
    async close() {
      for (const { controller } of live.values()) controller.abort("shutdown");
      await Promise.allSettled([...live.values()].map(({ ended }) => ended));
      // A store that is out must not keep the rest from closing: the leases run out by themselves.
      await p.store.turns.letGo(p.instanceId).catch((cause: unknown) => {
        p.log.error({ err: cause }, "the leases of chat turns were not given back");
      });
    },
  };
}

/** Renews the lease while the turn is worked on; a stop that was asked for on another instance arrives here. */
function keepLease(turn: TurnRow, controller: AbortController, p: TurnsPowers): () => void {
  const timer = setInterval(() => {
    p.store.turns.renew(turn.id, turn.lease, p.now() + LEASE_MS).then(
      (kept) => {
        if (kept === null) controller.abort("lost");
        else if (kept.stop) controller.abort("user");
      },
      // The store is out: it is asked again, and until then nothing can be saved either.
      () => undefined,
    );
  }, RENEW_EVERY_MS);
  return () => clearInterval(timer);
}

async function runTurn(turn: TurnRow, controller: AbortController, p: TurnsPowers): Promise<void> {
  const session = await p.store.sessions.get(turn, turn.sessionId);
  const state = p.states.open(turn);
  const message = session && (await p.store.messages.get(session.id, turn.messageId));
  if (!session || !state || !message) {
    await endUnreadable(turn, p);
    return;
  }
  const work = new TurnWork({ turn, session, message, text: state.message, controller }, p);
  const unwatch = await watchRights(turn, controller, p);
  try {
    const end = await work.start(state.steps);
    await finish(turn, work, end, p);
  } finally {
    unwatch();
    work.stopwatch.close();
  }
}

/** Sealed by another installation, or touched: nobody can go on with it, and its session must not wait for it. */
async function endUnreadable(turn: TurnRow, p: TurnsPowers): Promise<void> {
  const error: Fault = {
    code: "OUTCOME_UNKNOWN",
    reason: "crashed",
    message: "what the turn had done so far cannot be read any more",
    remedy: "check the executions of the session, then send the message again",
  };
  const change = { status: "failed", phase: "remember", error, endedAt: p.now() } as const;
  await p.store.turns.end(turn.id, turn.lease, change, null);
  p.events.emit(turn.id, { event: "end", data: { status: change.status } });
}

/** A revoked key or a disabled user stops the turn, whatever it waits for. */
async function watchRights(
  turn: TurnRow,
  controller: AbortController,
  p: TurnsPowers,
): Promise<() => void> {
  const caller = await p.callerAgain(turn.mandate);
  if (!caller) {
    controller.abort("revoked");
    return () => undefined;
  }
  return p.watch(caller, (now) => (now === null ? controller.abort("revoked") : undefined));
}

interface TurnParts {
  readonly turn: TurnRow;
  readonly session: SessionRow;
  readonly message: MessageRow;
  /** The message as it was written. */
  readonly text: string;
  readonly controller: AbortController;
}

class TurnWork {
  readonly stopwatch: Stopwatch;
  steps: readonly TurnStep[] = [];
  readonly #parts: TurnParts;
  readonly #p: TurnsPowers;
  #today: SessionParts | null = null;
  #tainted: readonly TaintSource[];
  #isDirect = false;
  /** The names of tools by the names that models use. */
  #names = new Map<string, string>();
  /** Shown with the message that is answered. */
  #images: readonly ModelImage[] = [];

  constructor(parts: TurnParts, p: TurnsPowers) {
    this.#parts = parts;
    this.#p = p;
    this.#tainted = parts.session.taint;
    this.stopwatch = createStopwatch(parts.turn.workedMs, () => parts.controller.abort("timeout"));
  }

  async start(steps: readonly TurnStep[]): Promise<LoopEnd> {
    const { turn, session, message, controller } = this.#parts;
    this.steps = steps;
    try {
      this.phase("capsule");
      const today = await this.#lookUp();
      if (today === null) return { status: "stopped", reason: "revoked" };
      this.phase("context");
      const { states, store, assets } = this.#p;
      const pictures = (ids: readonly string[]) => readPictures(turn, ids, assets);
      const conversation = await loadConversation(session.id, message, { store, states, pictures });
      this.#images = await pictures(message.assets);
      this.phase("budget");
      // Commands need no model.
      if (!isCommand(this.#parts.text)) await this.#p.use.check(today.caller);
      this.phase("model_choice");
      this.#isDirect = isCommand(this.#parts.text) || !(await this.#p.hasModel(turn.tenantId));
      this.stopwatch.start(
        (today.settings.agentConfig.limits.turnSeconds ?? DEFAULTS.turnSeconds) * 1_000,
      );
      return await runLoop(this.#loopWork(today, conversation));
    } catch (cause) {
      if (controller.signal.aborted) return { status: "stopped", reason: controller.signal.reason };
      return { status: "failed", fault: faultOf(cause), text: "" };
    }
  }

  /** User, capsule and persona as they are now. */
  async #lookUp(): Promise<SessionParts | null> {
    const caller = await this.#p.callerAgain(this.#parts.turn.mandate);
    this.#today = caller && (await partsOf(this.#parts.session, caller, this.#p));
    return this.#today;
  }

  #loopWork(today: SessionParts, conversation: MessagesBefore): LoopWork {
    const { turn, session, controller, text } = this.#parts;
    const { persona } = today;
    const { systemPrompt: prompt, agentConfig: config } = today.settings;
    const p = this.#p;
    return {
      signal: controller.signal,
      limits: {
        rounds: config.limits.rounds ?? DEFAULTS.rounds,
        parallelReads: config.parallelReads,
        maxTokens: config.maxTokens ?? tokensFor(persona) ?? DEFAULTS.maxTokens,
      },
      system: systemPrompt(prompt, persona),
      history: (shortened) => [
        ...conversation(shortened),
        { role: "user", content: text, ...(this.#images.length > 0 && { images: this.#images }) },
      ],
      steps: this.steps,
      caller: async () => (await this.#lookUp())?.caller ?? null,
      discover: async (caller) => {
        const tools = await p.engine().discover(caller);
        this.#names = new Map(tools.map(({ name, wireName }) => [wireName, name]));
        return tools;
      },
      generate: (request) => this.#generate(request),
      engine: p.engine,
      request: (call) => ({
        name: call.name,
        arguments: call.arguments,
        entry: "chat",
        idempotencyKey: `${turn.id}.${call.key}`,
        signal: controller.signal,
        context: {
          sessionId: session.id,
          metadata: { turnId: turn.id },
        },
        taint: readBy("chat", call.taint),
        ip: turn.ip ?? undefined,
        ...contextOf(turn.trace),
      }),
      save: (steps, phase) => this.#save(steps, phase),
      inbox: () => [],
      exhausted: (steps) => costFault(steps, config.limits.turnCost ?? persona?.knobs.resource),
      callsLeft: (steps) =>
        (config.limits.toolCallsPerTurn ?? DEFAULTS.toolCalls) - callsMade(steps),
      taint: this.#tainted,
      tainted: async (sources) => {
        this.#tainted = sources;
        await p.store.sessions.update(session.id, { taint: sources });
      },
      isOutside: p.isOutside,
      phase: (phase) => this.phase(phase),
      waiting: (isWaiting) => {
        if (isWaiting) this.stopwatch.pause();
        else this.stopwatch.resume();
      },
    };
  }

  /** One answer, with its tokens taken from the budget of today's caller. */
  async #generate(request: Omit<GenerateRequest, "model">): Promise<LoopAnswer> {
    const { turn, controller } = this.#parts;
    const today = this.#today;
    if (!today) throw new Error("the model is asked on behalf of nobody");
    if (this.#isDirect) return answerDirectly(request, today.caller, this.#p.engine());
    const input = inputTokens(request);
    const reserved = await this.#p.use.reserve(today.caller, {
      wanted: input + request.maxTokens,
      atLeast: input + LEAST_TOKENS,
    });
    let used = 0;
    try {
      // It may have been stopped meanwhile.
      controller.signal.throwIfAborted();
      const config = today.settings.agentConfig;
      const sees = request.messages.some((message) => message.role === "user" && message.images);
      const { visionModel } = today.settings;
      const wanted = turn.model ?? (sees ? visionModel : null) ?? config.chatModel;
      const temperature = config.temperature ?? temperatureFor(today.persona);
      const answer = await this.#p
        .model(this.#modelCaller(today.caller), controller.signal)
        .generate({
          ...request,
          maxTokens: Math.min(request.maxTokens, reserved.tokens - input),
          ...(wanted === null ? {} : { model: wanted }),
          ...(temperature === null ? {} : { temperature }),
          onText: (text) => this.#p.events.emit(turn.id, { event: "text", data: { text } }),
        });
      used = answer.usage.input + answer.usage.output;
      const { images = [] } = answer;
      const assets = await keepPictures(turn, images, this.#p.assets);
      if (assets.length > 0) await this.#p.use.count(today.caller, "images", assets.length);
      await this.#auditModel(answer, assets);
      return { ...answer, ...(assets.length > 0 ? { assets } : {}) };
    } finally {
      await reserved.settle(used);
    }
  }

  #modelCaller(caller: Caller) {
    const { turn, controller } = this.#parts;
    const timeoutMs = this.stopwatch.leftMs();
    const startedAt = this.#p.now();
    return { caller, trace: turn.trace, signal: controller.signal, startedAt, timeoutMs };
  }

  async #auditModel(answer: Generated, assets: readonly string[]): Promise<void> {
    const { turn } = this.#parts;
    await audit(this.#p, turn, {
      role: "model",
      text: answer.text,
      ...aboutAnswer(answer),
      ...(assets.length > 0 ? { assets } : {}),
    });
  }

  async #save(steps: readonly TurnStep[], phase: string): Promise<boolean> {
    const { turn } = this.#parts;
    this.#tell(steps);
    this.steps = [...steps];
    const isWaiting = steps.some((step) => step.kind === "result" && step.status === "pending");
    return this.#write(
      { phase, status: isWaiting ? "waiting" : "running", sealed: this.#sealed() },
      turn,
    );
  }

  #sealed(): string {
    return this.#p.states.close(this.#parts.turn.id, {
      message: this.#parts.text,
      steps: this.steps,
    });
  }

  #write(change: TurnChange, { id, lease }: TurnRow): Promise<boolean> {
    return this.#p.store.turns.save(id, lease, { ...change, workedMs: this.stopwatch.workedMs() });
  }

  /** Those who watch hear what is new since the last step. */
  #tell(steps: readonly TurnStep[]): void {
    const { turn } = this.#parts;
    for (const [at, step] of steps.entries()) {
      if (this.steps[at] === step) continue;
      if (step.kind === "model")
        for (const { id, name } of step.calls)
          this.#p.events.emit(turn.id, {
            event: "tool_call",
            data: { callId: id, tool: this.#names.get(name) ?? name },
          });
      if (step.kind !== "result") continue;
      const { callId, tool, executionId, status, reason, approvalId } = step;
      this.#p.events.emit(turn.id, {
        event: status === "pending" ? "waiting" : "tool_result",
        data: {
          callId,
          tool,
          executionId,
          status,
          ...(reason === undefined ? {} : { reason }),
          ...(approvalId === undefined ? {} : { approvalId }),
        },
      });
    }
  }

  phase(phase: Phase): void {
    this.#p.events.emit(this.#parts.turn.id, { event: "phase", data: { phase } });
  }

  sealed(): string {
    return this.#sealed();
  }
}

/** Writes the end: the answer, why there is none, or nothing at all where another instance goes on. */
async function finish(turn: TurnRow, work: TurnWork, end: LoopEnd, p: TurnsPowers): Promise<void> {
  if (end.status === "lost") return;
  if (end.status === "stopped" && (end.reason === "shutdown" || end.reason === "lost")) return;
  const at = p.now();
  const fault = faultAt(end);
  work.phase("answer");
  const text = end.status === "stopped" ? "" : end.text;
  const assets = assetsIn(work.steps);
  const reply: MessageRow | null =
    text === "" && (fault !== null || assets.length === 0)
      ? null
      : {
          id: p.ids.handle("msg", at),
          tenantId: turn.tenantId,
          sessionId: turn.sessionId,
          parentId: turn.messageId,
          role: "assistant",
          text: p.masker.text(text),
          assets,
          turnId: turn.id,
          createdAt: at,
        };
  if (reply)
    await audit(p, turn, {
      role: "assistant",
      text,
      messageId: reply.id,
      ...(assets.length > 0 ? { assets } : {}),
    });
  const isStopped = end.status === "stopped" && end.reason === "user";
  const change = {
    status: isStopped ? ("stopped" as const) : fault ? ("failed" as const) : ("success" as const),
    phase: "end",
    error: fault,
    replyId: reply?.id ?? null,
    sealed: work.sealed(),
    workedMs: work.stopwatch.workedMs(),
    endedAt: at,
  };
  work.phase("remember");
  await p.store.turns.end(turn.id, turn.lease, change, reply);
  work.phase("observe");
  p.log.info(
    {
      turnId: turn.id,
      sessionId: turn.sessionId,
      tenantId: turn.tenantId,
      userId: turn.userId,
      traceId: turn.trace.traceId,
      status: change.status,
      workedMs: change.workedMs,
      ...(fault ? { reason: fault.reason } : {}),
    },
    "chat_turn_ended",
  );
  p.events.emit(turn.id, { event: "end", data: { status: change.status } });
}

function faultAt(end: LoopEnd): Fault | null {
  if (end.status === "failed") return end.fault;
  if (end.status !== "stopped") return null;
  if (end.reason === "user")
    return { code: "CANCELLED", reason: "user", message: "the turn was stopped" };
  if (end.reason === "timeout")
    return {
      code: "TIMEOUT",
      reason: "timeout",
      message: "the time of the turn is over",
      remedy: "ask for less at a time, or raise limits.turnSeconds of the capsule",
    };
  return {
    code: "UNAUTHORIZED",
    reason: "key_inactive",
    message: "the user or key it works for is not active any more",
    remedy: "sign in again, or use another key",
  };
}

/** One message or answer on the ledger, masked, under the trace of its turn. */
export async function audit(
  p: Pick<TurnsPowers, "note" | "masker">,
  turn: Pick<TurnRow, "id" | "tenantId" | "userId" | "sessionId" | "mandate" | "trace">,
  { text, ...rest }: JsonObject & { readonly role: string; readonly text: string },
): Promise<void> {
  await p.note("chat.message", turn, {
    sessionId: turn.sessionId,
    turnId: turn.id,
    traceId: turn.trace.traceId,
    keyId: turn.mandate.keyId,
    ...rest,
    ...auditedText(text, (plain) => p.masker.text(plain)),
  });
}

/** What the model drew and what tools made for the person, in order. */
const assetsIn = (steps: readonly TurnStep[]): readonly string[] => [
  ...new Set(steps.flatMap((step) => (step.kind === "note" ? [] : (step.assets ?? [])))),
];

const callsMade = (steps: readonly TurnStep[]): number =>
  steps.filter((step) => step.kind === "result" && step.executionId !== null).length;

function costFault(steps: readonly TurnStep[], most: number | undefined): Fault | null {
  const cost = steps.reduce((sum, step) => sum + (step.kind === "model" ? step.cost : 0), 0);
  if (most === undefined || cost < most) return null;
  return {
    code: "BUDGET_EXHAUSTED",
    reason: "turn_cost",
    message: `the turn has cost $${cost.toFixed(4)}, at most $${most} are allowed`,
    remedy: "ask for less at a time, or raise limits.turnCost of the capsule",
  };
}

/** Steps of the intelligence knob: 1–3, 4–6, 7–8, 9–10. */
function stepOf(persona: SessionParts["persona"]): number | null {
  const knob = persona?.knobs.intelligence;
  if (knob === undefined) return null;
  return knob <= 3 ? 0 : knob <= 6 ? 1 : knob <= 8 ? 2 : 3;
}

function temperatureFor(persona: SessionParts["persona"]): number | null {
  const step = stepOf(persona);
  return step === null ? null : ([0.3, 0.7, 0.8, 0.9][step] ?? null);
}

function tokensFor(persona: SessionParts["persona"]): number | null {
  const step = stepOf(persona);
  return step === null ? null : ([512, 2_048, 4_096, 8_192][step] ?? null);
}

export const newTurn = (row: {
  readonly id: string;
  readonly session: SessionRow;
  readonly messageId: string;
  readonly caller: Caller;
  readonly trace: Trace;
  readonly ip: string | null;
  readonly model: string | null;
  readonly sealed: string;
  readonly instanceId: string;
  readonly now: number;
}): TurnRow => ({
  id: row.id,
  tenantId: row.session.tenantId,
  userId: row.session.userId,
  sessionId: row.session.id,
  messageId: row.messageId,
  replyId: null,
  status: "running",
  phase: "receive",
  model: row.model,
  sealed: row.sealed,
  error: null,
  mandate: mandateOf(row.caller),
  trace: row.trace,
  ip: row.ip,
  workedMs: 0,
  startedAt: row.now,
  endedAt: null,
  stopRequestedAt: null,
  instanceId: row.instanceId,
  lease: 1,
  leasedUntil: row.now + LEASE_MS,
});
