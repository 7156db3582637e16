// The one loop of chat turns and agents: the model is asked, what it asks for is called through the whole gate as the
// caller of now, until it answers with text alone or a limit is reached. Every step is saved before the next one.
import type { Caller, CallRequest, JsonObject, Outcome } from "../../contract/call.ts";
import { AppError, faultOf, type Fault } from "../../contract/errors.ts";
import type { Generated, GenerateRequest, ModelMessage } from "../../contract/powers/model.ts";
import { sourcesOf, withSource, type TaintSource } from "../../contract/taint.ts";
import type { Tool } from "../../contract/tool.ts";
import type { TurnCall, TurnResult, TurnStep } from "../../storage/store/store.ts";
import { afterFailure, failureOf } from "../after-failure.ts";
import { LOOP_BLOCKED, loopGateAfter, type LoopGate } from "./loop-gate.ts";
import { assetsOf, tellFault, tellOutcome } from "./results.ts";

export interface LoopEngine {
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  follow(
    caller: Caller,
    executionId: string,
    wait: { ms: number; signal?: AbortSignal },
  ): Promise<Outcome>;
  cancel(caller: Caller, executionId: string, note?: string): Promise<void>;
}

export interface LoopLimits {
  /** Answers of the model; the last one is asked for without tools. */
  readonly rounds: number;
  /** Reads that may run side by side; 0: one after the other. */
  readonly parallelReads: number;
  /** Of one answer. */
  readonly maxTokens: number;
}

export interface LoopWork {
  readonly signal: AbortSignal;
  readonly limits: LoopLimits;
  readonly system: string;
  /** The messages before; shortened when the model's context is too small. */
  history(shortened: number): readonly ModelMessage[] | null;
  readonly steps: readonly TurnStep[];
  /** Who it works for, with today's rights; null once they are gone. */
  caller(): Promise<Caller | null>;
  /** The tools of that caller, looked up before every question to the model. */
  discover(caller: Caller): Promise<readonly Tool[]>;
  generate(request: Omit<GenerateRequest, "model">): Promise<LoopAnswer>;
  readonly engine: () => LoopEngine;
  /** The call as its owner makes it; `key` is the same after a take-over, so that nothing runs twice. */
  request(call: {
    readonly name: string;
    readonly arguments: JsonObject;
    readonly key: string;
    readonly taint: readonly TaintSource[];
  }): CallRequest;
  /** Durable when it resolves; false: it was ended or taken over. */
  save(steps: readonly TurnStep[], phase: LoopPhase): Promise<boolean>;
  /** The messages that arrived meanwhile. */
  inbox(): readonly string[];
  /** A limit of its owner that is reached (time, cost, budget), or null. */
  exhausted(steps: readonly TurnStep[]): Fault | null;
  /** Tool calls that are left to it. */
  callsLeft(steps: readonly TurnStep[]): number;
  /** Content from outside that it had read before. */
  readonly taint: readonly TaintSource[];
  /** It has read more: all of it, durable before the model sees it. */
  tainted(sources: readonly TaintSource[]): Promise<void>;
  isOutside(path: string): boolean;
  phase(phase: LoopPhase): void;
  /** Waiting for a person does not count as work. */
  waiting(isWaiting: boolean): void;
}

/** An answer, with the ids that its pictures were kept under. */
export type LoopAnswer = Generated & { readonly assets?: readonly string[] };

export type LoopPhase =
  "discovery" | "model_call" | "parse" | "validate" | "execute" | "results" | "answer";

export type LoopEnd =
  | { readonly status: "success"; readonly text: string; readonly refused?: true }
  | { readonly status: "failed"; readonly fault: Fault; readonly text: string }
  | { readonly status: "stopped"; readonly reason: unknown }
  /** Another instance ended it or took it over: nothing more may be written. */
  | { readonly status: "lost" };

const FOLLOW_MS = 30_000;
/** So many rounds before the last one the model gets a notice. */
const WARNING_ROUNDS = 3;
const BLOCKS_IN_A_ROW = 3;
const SHORTENED_AT_MOST = 3;

export async function runLoop(work: LoopWork): Promise<LoopEnd> {
  const run = new LoopRun(work);
  try {
    return await run.untilEnd();
  } catch (cause) {
    if (work.signal.aborted) return { status: "stopped", reason: work.signal.reason };
    return { status: "failed", fault: faultOf(cause), text: run.text };
  }
}

class LoopRun {
  readonly #work: LoopWork;
  readonly #steps: TurnStep[];
  #taint: readonly TaintSource[];
  #tools: readonly Tool[] = [];
  #gate: LoopGate | null = null;
  #shortened = 0;

  constructor(work: LoopWork) {
    this.#work = work;
    this.#steps = [...work.steps];
    this.#taint = work.taint;
  }

  /** The last text of the model. */
  get text(): string {
    const last = this.#steps.findLast((step) => step.kind === "model" && step.text !== "");
    return last?.kind === "model" ? last.text : "";
  }

  async untilEnd(): Promise<LoopEnd> {
    const { signal } = this.#work;
    for (;;) {
      if (signal.aborted) return { status: "stopped", reason: signal.reason };
      const caller = await this.#caller();
      this.#work.phase("discovery");
      this.#tools = await this.#work.discover(caller);
      this.#gate ??= loopGateAfter(this.#steps, (name) => this.#toolNamed(name));
      const open = openCalls(this.#steps);
      const end = open.length > 0 ? await this.#runCalls(open) : await this.#askModel();
      if (end) return end;
    }
  }

  async #caller(): Promise<Caller> {
    const caller = await this.#work.caller();
    if (caller) return caller;
    throw new AppError(
      "UNAUTHORIZED",
      "key_inactive",
      "the user or key it works for is not active any more",
      { remedy: "sign in again, or use another key" },
    );
  }

  async #askModel(): Promise<LoopEnd | null> {
    const { limits } = this.#work;
    const fault = this.#work.exhausted(this.#steps);
    if (fault) return { status: "failed", fault, text: this.text };
    const round = this.#steps.filter(({ kind }) => kind === "model").length;
    const left = limits.rounds - round;
    if (left <= 0)
      return { status: "failed", fault: tooManyRounds(limits.rounds), text: this.text };
    for (const text of this.#work.inbox()) this.#steps.push({ kind: "note", text });
    this.#work.phase("model_call");
    const answer = await this.#generate(left);
    this.#work.phase("parse");
    this.#steps.push({
      kind: "model",
      model: answer.model,
      text: answer.text,
      calls: uniqueIds(answer.calls, round),
      ...(answer.assets ? { assets: answer.assets } : {}),
      tokens: { ...answer.usage },
      cost: answer.cost,
      at: Date.now(),
    });
    const isLast = answer.calls.length === 0;
    if (!(await this.#work.save(this.#steps, isLast ? "answer" : "execute")))
      return { status: "lost" };
    if (!isLast) return null;
    // A message that came with the last answer is answered before the end.
    const more = this.#work.inbox();
    for (const text of more) this.#steps.push({ kind: "note", text });
    if (more.length > 0) return null;
    if (answer.finishReason === "refused")
      return { status: "success", text: answer.text, refused: true };
    if (answer.text === "" && (answer.images ?? []).length === 0)
      return { status: "failed", fault: noAnswer(answer), text: "" };
    return { status: "success", text: answer.text };
  }

  /** Asks again with a shorter history where the model's context is too small for it. */
  async #generate(left: number): Promise<LoopAnswer> {
    for (;;) {
      const history = this.#work.history(this.#shortened);
      try {
        return await this.#work.generate({
          system: systemFor(this.#work.system, left),
          messages: [...(history ?? []), ...messagesOf(this.#steps, this.#shortened)],
          maxTokens: this.#work.limits.maxTokens,
          ...(left > 1 && this.#tools.length > 0 ? { tools: this.#tools.map(definitionOf) } : {}),
        });
      } catch (cause) {
        const isTooLong = faultOf(cause).reason === "context_too_long";
        if (!isTooLong || this.#shortened >= SHORTENED_AT_MOST) throw cause;
        this.#shortened++;
      }
    }
  }

  /** In order; reads that follow each other side by side, where that is allowed. */
  async #runCalls(calls: readonly TurnCall[]): Promise<LoopEnd | null> {
    for (let at = 0; at < calls.length;) {
      const batch = this.#nextBatch(calls.slice(at));
      const ends = await Promise.all(batch.map((call) => this.#runCall(call)));
      const end = ends.find((one) => one !== null);
      if (end) return end;
      at += batch.length;
    }
    this.#work.phase("results");
    return null;
  }

  #nextBatch(calls: readonly TurnCall[]): readonly TurnCall[] {
    const most = Math.max(1, this.#work.limits.parallelReads);
    const isRead = ({ name }: TurnCall) => this.#toolNamed(name)?.effects === "read_only";
    const reads = calls.findIndex((call, at) => at >= most || !isRead(call));
    return calls.slice(0, Math.max(1, reads === -1 ? Math.min(most, calls.length) : reads));
  }

  async #runCall(call: TurnCall): Promise<LoopEnd | null> {
    this.#work.phase("validate");
    const refusal = this.#refusalOf(call);
    if (refusal)
      return this.#note(call, refusal.text, { status: "failed", reason: refusal.reason });
    const tool = this.#toolNamed(call.name);
    const name = tool?.name ?? call.name;
    const decision = this.#gate?.decide(name, tool?.category ?? "", call.arguments);
    if (decision?.kind === "block") {
      this.#gate?.ended(name, call.arguments, "", true);
      const fault = { message: decision.message, reason: LOOP_BLOCKED };
      const end = await this.#note(call, tellFault(fault), {
        status: "failed",
        reason: LOOP_BLOCKED,
      });
      const isDeaf = (this.#gate?.blockedInARow ?? 0) >= BLOCKS_IN_A_ROW;
      return end ?? (isDeaf ? { status: "failed", fault: loops(name), text: this.text } : null);
    }
    return this.#callEngine(call, name, tool ?? null, decision?.hint);
  }

  /** What is answered without the engine: there is nothing that could run. */
  #refusalOf(call: TurnCall): { text: string; reason: string } | null {
    if (call.unreadable !== undefined) {
      const reason = "invalid_arguments";
      const message = `the arguments are not a JSON object: ${call.unreadable.slice(0, 200)}`;
      return { reason, text: tellFault({ message, reason, remedy: "call again with valid JSON" }) };
    }
    if (this.#work.callsLeft(this.#steps) > 0) return null;
    const reason = "tool_calls_exhausted";
    const message = "your budget of tool calls is used up";
    return { reason, text: tellFault({ message, reason, remedy: "answer with what you have" }) };
  }

  async #callEngine(
    call: TurnCall,
    name: string,
    tool: Tool | null,
    hint: string | undefined,
  ): Promise<LoopEnd | null> {
    for (let attempt = 1; ; attempt++) {
      this.#work.phase("execute");
      const { outcome, fault } = await this.#attempt(call, name, attempt);
      const failed = outcome ?? failureOf(fault);
      const next = failed.error ? afterFailure({ outcome: failed, tool, attempt }) : null;
      // The next start asks again, and gets what became of the call.
      if (isShutdown(failed.error) && outcome?.replayed !== true)
        return { status: "stopped", reason: "shutdown" };
      if (next?.action === "retry") {
        await pause(next.afterMs, this.#work.signal);
        continue;
      }
      const sources = outcome ? sourcesOf(outcome, tool, (path) => this.#work.isOutside(path)) : [];
      await this.#remember(sources);
      const content = outcome
        ? tellOutcome(outcome, { hint, sources })
        : tellFault(failed.error ?? faultOf(null));
      this.#gate?.ended(name, call.arguments, content, false);
      const end = await this.#note(call, content, {
        status: outcome ? endOf(outcome) : "failed",
        executionId: outcome?.executionId ?? null,
        ...(failed.error ? { reason: failed.error.reason } : {}),
        ...(outcome?.approval ? { approvalId: outcome.approval.id } : {}),
        ...(outcome && tool ? assetsOf(outcome, tool) : {}),
      });
      if (end) return end;
      return next?.action === "stop" && failed.error && outcome?.replayed !== true
        ? { status: "failed", fault: { ...failed.error, message: next.message }, text: this.text }
        : null;
    }
  }

  async #attempt(
    call: TurnCall,
    name: string,
    attempt: number,
  ): Promise<{ outcome: Outcome; fault?: never } | { outcome: null; fault: unknown }> {
    const { signal } = this.#work;
    if (signal.aborted) throw new AppError("CANCELLED", "user", "stopped");
    const caller = await this.#caller();
    const key = attempt === 1 ? call.id : `${call.id}.${attempt}`;
    try {
      const request = this.#work.request({
        name,
        arguments: call.arguments,
        key,
        taint: this.#taint,
      });
      const outcome = await this.#work.engine().execute(caller, request);
      return { outcome: await this.#whenEnded(call, caller, outcome) };
    } catch (fault) {
      if (signal.aborted) throw fault;
      return { outcome: null, fault };
    }
  }

  /** A person may still agree: waits for the decision and for the run after it. */
  async #whenEnded(call: TurnCall, caller: Caller, first: Outcome): Promise<Outcome> {
    if (first.endedAt !== null) return first;
    const { signal } = this.#work;
    let outcome = first;
    await this.#note(call, "", {
      status: "pending",
      executionId: outcome.executionId,
      ...(outcome.approval ? { approvalId: outcome.approval.id } : {}),
    });
    this.#work.waiting(true);
    try {
      while (outcome.endedAt === null && !signal.aborted)
        outcome = await this.#work
          .engine()
          .follow(caller, outcome.executionId, { ms: FOLLOW_MS, signal });
    } finally {
      this.#work.waiting(false);
    }
    // Where the server stops, the call goes on waiting for its person, and the turn for the call.
    if (outcome.endedAt === null && signal.reason !== "shutdown")
      await this.#work
        .engine()
        .cancel(caller, outcome.executionId, "the turn that asked has ended")
        .catch(() => undefined);
    if (signal.aborted) throw new AppError("CANCELLED", "user", "stopped");
    return outcome;
  }

  async #remember(sources: readonly TaintSource[]): Promise<void> {
    const known = this.#taint;
    this.#taint = sources.reduce(withSource, known);
    if (this.#taint !== known) await this.#work.tainted(this.#taint);
  }

  async #note(
    call: TurnCall,
    content: string,
    rest: Pick<TurnResult, "status"> & Partial<TurnResult>,
  ): Promise<LoopEnd | null> {
    const step: TurnResult = {
      kind: "result",
      callId: call.id,
      tool: this.#toolNamed(call.name)?.name ?? call.name,
      executionId: null,
      content,
      at: Date.now(),
      ...rest,
    };
    const known = this.#steps.findIndex((one) => one.kind === "result" && one.callId === call.id);
    if (known === -1) this.#steps.push(step);
    else this.#steps[known] = step;
    return (await this.#work.save(this.#steps, "execute")) ? null : { status: "lost" };
  }

  #toolNamed(name: string): Tool | undefined {
    return this.#tools.find((tool) => tool.wireName === name || tool.name === name);
  }
}

/** Calls of the last answer that have no result yet, or one that still waits. */
export function openCalls(steps: readonly TurnStep[]): readonly TurnCall[] {
  const last = steps.findLast((step) => step.kind === "model");
  if (last?.kind !== "model") return [];
  const done = new Set(
    steps.flatMap((step) =>
      step.kind === "result" && step.status !== "pending" ? [step.callId] : [],
    ),
  );
  return last.calls.filter(({ id }) => !done.has(id));
}

/** Steps as the model reads them; the older results get shorter when its context is too small. */
export function messagesOf(steps: readonly TurnStep[], shortened: number): ModelMessage[] {
  const most = shortened === 0 ? Infinity : 8_000 / 4 ** shortened;
  return steps.map((step): ModelMessage => {
    if (step.kind === "note") return { role: "user", content: step.text };
    if (step.kind === "result")
      return {
        role: "tool",
        callId: step.callId,
        content:
          step.content.length <= most
            ? step.content
            : `${step.content.slice(0, most)} … (shortened)`,
      };
    return {
      role: "assistant",
      content: step.text,
      ...(step.calls.length > 0 ? { calls: step.calls } : {}),
    };
  });
}

const CHARS_PER_TOKEN = 4;
/** A picture costs about as much with the usual providers. */
const TOKENS_PER_PICTURE = 1_000;

/** About so many tokens are read by the model. */
export function inputTokens({
  system,
  messages,
  tools,
}: Pick<GenerateRequest, "system" | "messages" | "tools">): number {
  let pictures = 0;
  const plain = messages.map((message) => {
    if (message.role !== "user" || !message.images) return message;
    pictures += message.images.length;
    return message.content;
  });
  const characters = JSON.stringify([system, plain, tools]).length;
  return Math.ceil(characters / CHARS_PER_TOKEN) + pictures * TOKENS_PER_PICTURE;
}

/** Ids of calls are unique in a turn, whatever the provider gives: they key what must not run twice. */
function uniqueIds(calls: Generated["calls"], round: number): TurnCall[] {
  return calls.map(({ name, arguments: args, unreadable }, at) => ({
    id: `call_${round}_${at}`,
    name,
    arguments: args,
    ...(unreadable === undefined ? {} : { unreadable }),
  }));
}

const definitionOf = ({ wireName, description, inputSchema }: Tool) => ({
  name: wireName,
  description,
  schema: inputSchema,
});

function systemFor(system: string, left: number): string {
  if (left > WARNING_ROUNDS) return system;
  return left === 1
    ? `${system}\n\nThis is your last answer: no tool can be called any more. Answer with what you have.`
    : `${system}\n\nYou can answer ${left} more times, tool calls included. Come to an end.`;
}

const isShutdown = (error: Fault | null): boolean =>
  error?.reason === "shutting_down" || (error?.code === "CANCELLED" && error.reason === "shutdown");

const endOf = ({ status }: Outcome): TurnResult["status"] =>
  status === "running" ? "pending" : status;

const tooManyRounds = (rounds: number): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "rounds_exhausted",
  message: `no answer after ${rounds} rounds`,
  remedy: "ask for less at a time, or raise limits.rounds of the capsule",
});

const loops = (tool: string): Fault => ({
  code: "EXECUTION_FAILED",
  reason: LOOP_BLOCKED,
  message: `the model kept repeating calls of ${tool}`,
  remedy: "say more exactly what you want, or use another model",
});

const noAnswer = ({ finishReason }: Generated): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "no_answer",
  message:
    finishReason === "length"
      ? "the answer was cut before its first word: the model's limit of tokens is too small"
      : "the model answered with nothing",
  remedy: "ask again, or use another model",
});

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
