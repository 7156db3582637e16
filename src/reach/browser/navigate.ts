// Going to an address, and back and forth.
import type { Page, Response } from "playwright-core";
import { AppError } from "../../contract/errors.ts";
import type { BrowserSession } from "../../contract/powers/browser.ts";
import { egressBlocked, fault, firstLine, quoted } from "./faults.ts";
import type { LiveSession } from "./session.ts";
import { titleOf } from "./tabs.ts";
import { pause } from "./abortable.ts";

type Target = Parameters<BrowserSession["navigate"]>[0];
const MAX_TRIES = 3;
const AGAIN_MS = 200;

type WaitUntil = Parameters<BrowserSession["navigate"]>[1];

export async function navigate(
  session: LiveSession,
  page: Page,
  target: Target,
  waitUntil: WaitUntil,
  signal: AbortSignal,
) {
  const began = performance.now();
  if ("url" in target) await session.guard.check(target.url, signal);
  const before = page.url();
  const response = await goOrAgain(page, target, { waitUntil, timeout: 0, signal }).catch(
    (cause: unknown) => {
      throw failed(session, target, cause);
    },
  );
  const refused = response && (await answerOfGuard(response, target));
  if (refused) throw refused;
  if (
    response === null &&
    "action" in target &&
    target.action !== "reload" &&
    page.url() === before
  )
    throw fault(
      "navigation_failed",
      `there is no page to go ${target.action} to`,
      "navigate to a url",
    );
  return {
    url: page.url(),
    title: await titleOf(page),
    status: response?.status() ?? null,
    redirected: response ? response.request().redirectedFrom() !== null : false,
    elapsedMs: Math.round(performance.now() - began),
  };
}

function go(
  page: Page,
  target: Target,
  options: Parameters<Page["goto"]>[1],
): Promise<Response | null> {
  if ("url" in target) return page.goto(target.url, options);
  switch (target.action) {
    case "back":
      return page.goBack(options);
    case "forward":
      return page.goForward(options);
    case "reload":
      return page.reload(options);
  }
}

/** What is left of an earlier navigation (an error page, a download) may arrive late and push a new one aside. */
async function goOrAgain(
  page: Page,
  target: Target,
  options: { waitUntil: WaitUntil; timeout: 0; signal: AbortSignal },
): Promise<Response | null> {
  for (let tries = 1; ; tries++) {
    try {
      return await go(page, target, options);
    } catch (cause) {
      const pushed =
        cause instanceof Error && /interrupted by another navigation/.test(cause.message);
      if (!pushed || tries >= MAX_TRIES || options.signal.aborted) throw cause;
      await pause(AGAIN_MS, options.signal);
    }
  }
}

/** Over plain http the guard's own answer looks like a page. */
async function answerOfGuard(response: Response, target: Target): Promise<AppError | null> {
  if (response.headers()["proxy-status"] !== "ostiary") return null;
  const answer = (await response.json().catch(() => ({}))) as Partial<
    Record<"code" | "reason" | "message" | "remedy", unknown>
  >;
  const text = (value: unknown, otherwise: string) =>
    typeof value === "string" && value !== "" ? value : otherwise;
  const message = text(answer.message, "it could not be reached");
  if (answer.code === "FORBIDDEN")
    return egressBlocked(message, text(answer.remedy, "use another address"));
  return fault(
    "navigation_failed",
    `${named(target)} did not load: ${message}`,
    text(answer.remedy, "check the address, or try another source"),
  );
}

const named = (target: Target): string =>
  "url" in target ? quoted(target.url) : `the page (${target.action})`;

const MEANINGS: Readonly<Record<string, string>> = {
  ERR_NAME_NOT_RESOLVED: "its name could not be resolved",
  ERR_CONNECTION_REFUSED: "the server refused the connection",
  ERR_CONNECTION_RESET: "the server broke the connection",
  ERR_CONNECTION_CLOSED: "the server closed the connection",
  ERR_EMPTY_RESPONSE: "the server answered nothing",
  ERR_TUNNEL_CONNECTION_FAILED: "it could not be reached, or the egress rules refuse it",
  ERR_PROXY_CONNECTION_FAILED: "the way out of the sandbox is closed",
  ERR_TOO_MANY_REDIRECTS: "it redirects without end",
  ERR_UNSAFE_PORT: "browsers do not go to this port",
};

function failed(session: LiveSession, target: Target, cause: unknown): unknown {
  const refusal = session.guard.takeRefusal();
  if (refusal) return refusal;
  if (cause instanceof AppError) return cause;
  const text = firstLine(cause);
  const where = named(target);
  if (/download is starting/i.test(text))
    return fault(
      "navigation_failed",
      `${where} is a download, not a page`,
      "it is being saved: browser/close hands it over",
    );
  const code = /net::(ERR_[A-Z_]+)/.exec(text)?.[1];
  if (code === undefined && !/interrupted|aborted|navigat/i.test(text)) return cause;
  const meaning =
    MEANINGS[code ?? ""] ??
    (code?.startsWith("ERR_CERT") || code?.startsWith("ERR_SSL")
      ? "its certificate or encryption is not valid"
      : /interrupted/.test(text)
        ? "another navigation came in between"
        : "the browser could not load it");
  return fault(
    "navigation_failed",
    `${where} did not load: ${meaning}${code ? ` (${code})` : ""}`,
    "check the address, or try another source",
  );
}
