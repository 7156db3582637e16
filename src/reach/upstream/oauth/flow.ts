// The SDK's authorization flow, spoken over the guard alone, with failures in our own words.
import type { AuthOptions, OAuthClientProvider } from "@modelcontextprotocol/client";
import { AppError } from "../../../contract/errors.ts";
import type { Egress } from "../../egress/egress.ts";
import { rulesForServer } from "../../egress/operator.ts";
import { visible } from "../../../util/text/visible.ts";
import { assertWebAddress } from "./endpoints.ts";

export interface FlowPowers {
  readonly egress: Pick<Egress, "pooled">;
  readonly masked: (text: string) => string;
}

type Fetch = NonNullable<AuthOptions["fetchFn"]>;

const STEP_MS = 10_000;
const MAX_BYTES = 262_144;
const MAX_TEXT = 300;

/** AUTHORIZED, or a person was sent away. */
export async function authorize(
  provider: OAuthClientProvider,
  options: Omit<AuthOptions, "fetchFn">,
  p: FlowPowers,
): Promise<"AUTHORIZED" | "REDIRECT"> {
  const { auth } = await import("@modelcontextprotocol/client");
  return overGuard(String(options.serverUrl), p, (fetchFn) =>
    auth(provider, { ...options, fetchFn }),
  );
}

/** For the time of `work`; every place that discovery names is judged as one that nobody named. */
export async function overGuard<T>(
  serverUrl: string,
  p: FlowPowers,
  work: (fetch: Fetch) => Promise<T>,
): Promise<T> {
  const pooled = await p.egress.pooled(rulesForServer(serverUrl));
  try {
    return await work((url, init) => {
      assertWebAddress(String(url), "the next address of the authorization");
      const signal = AbortSignal.any([
        AbortSignal.timeout(STEP_MS),
        ...(init?.signal ? [init.signal] : []),
      ]);
      const body = init?.body instanceof URLSearchParams ? init.body.toString() : init?.body;
      return pooled.fetch(
        url,
        { ...init, signal, ...(body === undefined ? {} : { body }) },
        { maxBytes: MAX_BYTES },
      );
    });
  } catch (cause) {
    throw cause instanceof AppError ? cause : inWords(cause, p.masked);
  } finally {
    await pooled.close();
  }
}

/** The text may be a stranger's: short, visible, and without what we keep secret. */
function inWords(cause: unknown, masked: FlowPowers["masked"]): AppError {
  const text = cause instanceof Error ? cause.message : String(cause);
  const shown = visible(masked(text)).slice(0, MAX_TEXT);
  return new AppError(
    "EXECUTION_FAILED",
    "upstream_protocol",
    `The authorization did not succeed: ${shown}`,
    { remedy: "try again, or ask the operator of that server", cause },
  );
}
