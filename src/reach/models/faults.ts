// What providers say when they refuse, in our words.
import { AppError } from "../../contract/errors.ts";

const TOO_LONG =
  /context[ _-]?(length|window)|maximum context|too many tokens|prompt is too long|too long/i;
const REFUSED = /content[ _-]?(filter|policy|management)|safety|moderation|refus/i;

/** The fault for an error response. The provider's text is foreign, so it is cut to one line. */
export function providerFault(name: string, status: number, text: string): AppError {
  const said = saidBy(text);
  const fault = (
    reason: string,
    remedy: string,
    code: "EXECUTION_FAILED" | "UNAVAILABLE" = "EXECUTION_FAILED",
  ) =>
    new AppError(
      code,
      reason,
      `the provider of ${name} answered ${status}${said === "" ? "" : `: ${said}`}`,
      { remedy },
    );
  if (status === 401 || status === 403)
    return fault("provider_not_configured", `check models.${name}.apiKey`, "UNAVAILABLE");
  if (status === 429 || status === 402)
    return fault("provider_quota", "wait, or use another model");
  if (status === 404)
    return fault("model_unknown", `check models.${name}.model and models.${name}.url`);
  if (TOO_LONG.test(text))
    return fault("context_too_long", "send less text, or use a model with a longer context");
  if (/voice/i.test(text) && status < 500)
    return fault("voice_unknown", "use a voice that the provider knows");
  if (REFUSED.test(text))
    return fault("provider_refused", "the provider's rules forbid it; ask for something else");
  if (status >= 500) return fault("upstream_unavailable", "try again later, or use another model");
  return fault("upstream_protocol", "check the arguments against what the provider accepts");
}

/** An answer that is no such answer. */
export function notUnderstood(name: string, what: string): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "upstream_protocol",
    `the provider of ${name} answered without ${what}`,
    {
      remedy: `check that models.${name}.url is a server of that kind`,
    },
  );
}

export function refused(name: string): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "provider_refused",
    `the provider of ${name} refused to answer`,
    {
      remedy: "the provider's rules forbid it; ask for something else",
    },
  );
}

function saidBy(text: string): string {
  let said = text;
  try {
    const body = JSON.parse(text) as { error?: { message?: unknown } | string; message?: unknown };
    const message =
      typeof body.error === "object" ? body.error.message : (body.error ?? body.message);
    if (typeof message === "string") said = message;
  } catch {
    // Not JSON: the text itself.
  }
  return said.replaceAll(/\s+/g, " ").trim().slice(0, 300);
}
