// Faults of a provider as our errors, and what may be tried after them.
import { PartialError, type Json } from "../../contract/call.ts";
import { AppError, faultOf, type Fault } from "../../contract/errors.ts";

const TOO_LONG =
  /context[ _-]?(length|window)|maximum context|too many tokens|prompt is too long|too long/i;
const REFUSED = /content[ _-]?(filter|policy|management)|safety|moderation|refus/i;
/** Status codes that stay the same with a retry. */
const NEVER = new Set([501, 505]);
const MAX_MESSAGE = 300;

/** again: the same model, after a while. next: another model may do better. no: the request is at fault. */
type Then = "again" | "next" | "no";

export class ProviderFault extends PartialError {
  readonly then: Then;

  constructor(fault: Fault, then: Then, partial: Json = null) {
    super(fault, partial);
    this.then = then;
  }
}

/** The fault for an error response. The provider's text is not trusted, so it is cut to one line. */
export function providerFault(
  name: string,
  status: number,
  text: string,
  { retryAfter, partial }: { retryAfter?: string | undefined; partial?: string } = {},
): ProviderFault {
  const reply = messageIn(text);
  const { code, reason, remedy, then } = meaningOf(name, status, text);
  const message = `the provider of ${name} answered ${status}${reply === "" ? "" : `: ${reply}`}`;
  const seconds = then === "again" ? secondsOf(retryAfter) : null;
  const fault = {
    code,
    reason,
    message,
    remedy,
    ...(seconds === null ? {} : { retryAfterSeconds: seconds }),
  };
  return new ProviderFault(fault, then, partialOf(partial));
}

interface Meaning extends Pick<Fault, "code" | "reason"> {
  readonly remedy: string;
  readonly then: Then;
}

function meaningOf(name: string, status: number, text: string): Meaning {
  if (status === 401 || status === 403) {
    const remedy = `check the key (models.${name}.apiKey)`;
    return { code: "UNAVAILABLE", reason: "provider_not_configured", remedy, then: "next" };
  }
  if (status === 402 || status === 429) {
    const then = status === 429 ? "again" : "next";
    const remedy = status === 429 ? "wait, or use another model" : "use another model";
    return { code: "UNAVAILABLE", reason: "provider_quota", remedy, then };
  }
  if (status === 404) {
    const remedy = `check the provider's name and address of it (models.${name}.model, models.${name}.url)`;
    return { code: "EXECUTION_FAILED", reason: "model_unknown", remedy, then: "next" };
  }
  if (status >= 500 || status === 408) {
    const then = NEVER.has(status) ? "next" : "again";
    const remedy = "try again later, or use another model";
    return { code: "UNAVAILABLE", reason: "upstream_unavailable", remedy, then };
  }
  return refusalOf(text);
}

/** The request is at fault; the provider's message says how. */
function refusalOf(text: string): Meaning {
  const code = "EXECUTION_FAILED";
  if (TOO_LONG.test(text)) {
    const remedy = "send less text, or use a model with a longer context";
    return { code, reason: "context_too_long", remedy, then: "next" };
  }
  if (/voice/i.test(text))
    return { code, reason: "voice_unknown", remedy: "use a voice the provider knows", then: "no" };
  if (REFUSED.test(text)) {
    const remedy = "the provider's rules forbid it; ask for something else";
    return { code, reason: "provider_refused", remedy, then: "no" };
  }
  const remedy = "check the arguments against what the provider accepts";
  return { code, reason: "upstream_protocol", remedy, then: "no" };
}

/** An answer that is no such answer. */
export function notUnderstood(name: string, what: string, partial?: string): ProviderFault {
  const fault = {
    code: "EXECUTION_FAILED" as const,
    reason: "upstream_protocol",
    message: `the provider of ${name} answered without ${what}`,
    remedy: `check that models.${name}.url is a server of that kind`,
  };
  return new ProviderFault(fault, "next", partialOf(partial));
}

export function refused(name: string, partial?: string): ProviderFault {
  const fault = {
    code: "EXECUTION_FAILED" as const,
    reason: "provider_refused",
    message: `the provider of ${name} refused to answer`,
    remedy: "the provider's rules forbid it; ask for something else",
  };
  return new ProviderFault(fault, "no", partialOf(partial));
}

/** The stream ended before the answer did. */
export function cut(name: string, partial: string, cause?: unknown): ProviderFault {
  const why = cause === undefined ? "the stream just ended" : faultOf(cause).message;
  const fault = {
    code: "EXECUTION_FAILED" as const,
    reason: "upstream_cut",
    message: `the answer of ${name} was cut off after ${partial.length} characters: ${why}`,
    remedy: "ask again",
  };
  return new ProviderFault(fault, "again", partialOf(partial));
}

/** The answer is longer than requested, and would go on. */
export function endless(name: string, limit: string, partial: string): ProviderFault {
  const fault = {
    code: "EXECUTION_FAILED" as const,
    reason: "upstream_protocol",
    message: `the answer of ${name} does not end: it is longer than ${limit}`,
    remedy: "use another model, or ask the operator to check that provider",
  };
  return new ProviderFault(fault, "next", partialOf(partial));
}

/** Reasons of the egress guard after which the same address may answer a moment later. */
const CONNECTION = new Set(["connect_failed", "dns_failed"]);

export function thenOf(cause: unknown): Then {
  if (cause instanceof ProviderFault) return cause.then;
  if (!(cause instanceof AppError)) return "no";
  return CONNECTION.has(cause.fault.reason) ? "again" : "next";
}

export interface ModelFailure {
  readonly model: string;
  readonly cause: unknown;
}

/** One fault for all that was tried: the last one itself where nothing came before it. */
export function allFailed(failures: readonly ModelFailure[], then: Then): unknown {
  const last = failures.at(-1)?.cause;
  if (failures.length < 2) return last;
  const message = `no answer after ${failures.length} attempts: ${triedWords(failures)}`;
  const fault = faultOf(last);
  const partial = last instanceof PartialError ? last.partial : null;
  // The request itself is at fault: that does not change by waiting.
  if (then === "no" || fault.reason === "context_too_long")
    return new ProviderFault({ ...fault, message }, then, partial);
  const reasons = new Set(failures.map(({ cause }) => faultOf(cause).reason));
  const [only = ""] = reasons.size === 1 ? reasons : [];
  const known = only === "provider_quota" || only === "provider_not_configured";
  const waits = failures.flatMap(({ cause }) => faultOf(cause).retryAfterSeconds ?? []);
  return new ProviderFault(
    {
      code: "UNAVAILABLE",
      reason: known ? only : "upstream_unavailable",
      message,
      remedy: `${fault.remedy ?? "try again later"}; or configure fallbacks (models.${failures[0]?.model ?? ""}.fallbacks)`,
      ...(waits.length === 0 ? {} : { retryAfterSeconds: Math.min(...waits) }),
    },
    then,
    partial,
  );
}

/** The same fault is listed once. */
function triedWords(failures: readonly ModelFailure[]): string {
  const times = new Map<string, number>();
  for (const { model, cause } of failures) {
    const line = `${model}: ${faultOf(cause).message}`;
    times.set(line, (times.get(line) ?? 0) + 1);
  }
  return [...times].map(([line, n]) => (n === 1 ? line : `${line} (${n} times)`)).join("; ");
}

const partialOf = (text: string | undefined): Json =>
  text === undefined || text === "" ? null : { text };

/** Seconds, or a date. */
function secondsOf(header: string | undefined): number | null {
  if (header === undefined) return null;
  const seconds = /^\d{1,9}(\.\d+)?$/.test(header.trim())
    ? Number(header)
    : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null;
}

function messageIn(text: string): string {
  let reply = text;
  try {
    const body = JSON.parse(text) as { error?: { message?: unknown } | string; message?: unknown };
    const message =
      typeof body.error === "object" ? body.error.message : (body.error ?? body.message);
    if (typeof message === "string") reply = message;
  } catch {
    // Not JSON: the text itself.
  }
  return reply.replaceAll(/\s+/g, " ").trim().slice(0, MAX_MESSAGE);
}
