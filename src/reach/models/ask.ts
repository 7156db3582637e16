// Requests an answer until there is one: the same model again after a while, then its fallbacks. The only place with
// retries.
import type { ModelAttempt, ModelPower } from "../../contract/powers/model.ts";
import { AppError, faultOf } from "../../contract/errors.ts";
import type { Ability } from "./config.ts";
import type { ModelExchange } from "./exchange.ts";
import { allFailed, thenOf, type ModelFailure } from "./faults.ts";
import { incapable, type AdapterAnswer, type Candidate } from "./model.ts";

const MAX_RETRIES = 2;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4_000;
/** A provider that asks for a longer wait than this is not tried again. */
const MAX_RETRY_AFTER_MS = 30_000;

type Request<A extends Ability> = Parameters<ModelPower[A]>[0];

export interface AskPowers {
  readonly exchange: ModelExchange;
  readonly signal: AbortSignal;
  /** Of the call's time. */
  readonly leftMs: () => number;
  /** Each attempt has its own observer. */
  readonly watch: (candidate: Candidate) => Watched;
}

export interface Watched {
  /** The first piece of a streamed answer is here. */
  began(): void;
  ended(answer: object): void;
  failed(reason: string): void;
}

export interface AskedFor<A extends Ability> {
  readonly answer: AdapterAnswer<A>;
  readonly candidate: Candidate;
  readonly attempts: readonly ModelAttempt[];
}

/** The state of one call of `ask`. */
interface Asking {
  readonly failures: ModelFailure[];
  /** The caller has part of an answer: another one must not follow. */
  handedOut: boolean;
  /** What the caller's own function threw; it is no fault of a provider. */
  thrown: { readonly cause: unknown } | null;
}

export async function ask<A extends Ability>(
  ability: A,
  request: Request<A>,
  candidates: readonly Candidate[],
  p: AskPowers,
): Promise<AskedFor<A>> {
  const asking: Asking = { failures: [], handedOut: false, thrown: null };
  /** A conversation was too long for a model of so many tokens. */
  let tooLongFor = 0;
  for (const candidate of candidates) {
    if (tooLongFor > 0 && !((candidate.settings.limits?.contextTokens ?? 0) > tooLongFor)) continue;
    try {
      const answer = await repeated(ability, request, candidate, asking, p);
      return { answer, candidate, attempts: asking.failures.map(attemptOf) };
    } catch (cause) {
      if (asking.thrown) throw asking.thrown.cause;
      // A cancel keeps its reason.
      if (p.signal.aborted) throw p.signal.reason;
      if (thenOf(cause) === "no" || asking.handedOut) throw allFailed(asking.failures, "no");
      if (faultOf(cause).reason === "context_too_long")
        tooLongFor = Math.max(tooLongFor, candidate.settings.limits?.contextTokens ?? Infinity);
    }
  }
  throw allFailed(asking.failures, "next");
}

const attemptOf = ({ model, cause }: ModelFailure): ModelAttempt => ({
  model,
  reason: faultOf(cause).reason,
});

/** One model, tried again where that may help and there is time. */
async function repeated<A extends Ability>(
  ability: A,
  request: Request<A>,
  candidate: Candidate,
  asking: Asking,
  p: AskPowers,
): Promise<AdapterAnswer<A>> {
  const { ExponentialBackoff, handleWhen, retry } = await import("cockatiel");
  const steps = new ExponentialBackoff({
    initialDelay: FIRST_WAIT_MS,
    maxDelay: LONGEST_WAIT_MS,
  });
  const helps = (cause: unknown): boolean =>
    thenOf(cause) === "again" &&
    !asking.handedOut &&
    !p.signal.aborted &&
    retryAfterMs(cause) <= MAX_RETRY_AFTER_MS &&
    Math.max(retryAfterMs(cause), LONGEST_WAIT_MS) < p.leftMs();
  const policy = retry(handleWhen(helps), { maxAttempts: MAX_RETRIES, backoff: atLeast(steps) });
  return untilAborted(
    policy.execute(() => once(ability, request, candidate, asking, p), p.signal),
    p.signal,
  );
}

interface Steps<C> {
  next(context: C): Steps<C> & { readonly duration: number };
}

/** Waits as long as the provider wants, where that is longer. */
function atLeast<C extends { readonly result: object }>(
  steps: Steps<C>,
): { next(context: C): ReturnType<Steps<C>["next"]> } {
  return {
    next(context) {
      const step = steps.next(context);
      const cause = "error" in context.result ? context.result.error : null;
      return {
        duration: Math.max(step.duration, retryAfterMs(cause)),
        next: (again) => atLeast(step).next(again),
      };
    },
  };
}

const retryAfterMs = (cause: unknown): number =>
  cause instanceof AppError ? (cause.fault.retryAfterSeconds ?? 0) * 1_000 : 0;

/** The wait between two attempts ends with the call. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** One attempt, with its failure recorded. */
async function once<A extends Ability>(
  ability: A,
  request: Request<A>,
  candidate: Candidate,
  asking: Asking,
  p: AskPowers,
): Promise<AdapterAnswer<A>> {
  p.signal.throwIfAborted();
  const watched = p.watch(candidate);
  try {
    const adapter = await candidate.open(p.exchange);
    const offered = adapter[ability] as
      ((request: Request<A>) => Promise<AdapterAnswer<A>>) | undefined;
    if (!offered) throw incapable([ability], candidate.name);
    const answer = await offered(fitted(request, candidate, asking, watched));
    watched.ended(answer);
    return answer;
  } catch (cause) {
    watched.failed(faultOf(cause).reason);
    asking.failures.push({ model: candidate.name, cause });
    throw cause;
  }
}

/** The request within the limits of this model, its stream observed. */
function fitted<A extends Ability>(
  request: Request<A>,
  { settings }: Candidate,
  asking: Asking,
  watched: Watched,
): Request<A> {
  if (!("maxTokens" in request)) return request;
  const { onText, maxTokens } = request;
  const heard = (text: string): void => {
    if (!asking.handedOut) watched.began();
    asking.handedOut = true;
    try {
      onText?.(text);
    } catch (cause) {
      asking.thrown = { cause };
      throw cause;
    }
  };
  return {
    ...request,
    maxTokens: Math.min(maxTokens, settings.limits?.outputTokens ?? maxTokens),
    ...(onText && { onText: heard }),
  };
}
