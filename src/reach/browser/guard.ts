// Decides about every request before it leaves the browser. The proxy outside the box decides again, for all of them.
import type { BrowserContext, Page, Request } from "playwright-core";
import type { Egress, EgressRules } from "../egress/egress.ts";
import { AppError } from "../../contract/errors.ts";
import { egressBlocked, quoted } from "./faults.ts";

export interface BrowserGuard {
  /** Rules of the call under way; they stay until the next one. */
  setRules(rules: EgressRules): void;
  /** For the proxy: a page may load from anywhere that is public and not blocked. */
  loading(): EgressRules;
  /** Judges a top-level address before the browser is even asked. */
  check(url: string, signal: AbortSignal): Promise<void>;
  watch(context: BrowserContext): Promise<void>;
  watchPage(page: Page): Promise<void>;
  /** Why the last top-level navigation was refused; returned once. */
  takeRefusal(): AppError | null;
}

/** Where Chromium goes by itself, whatever its flags say: no page has asked for that. */
const OWN_SERVICES: ReadonlySet<string> = new Set([
  "android.clients.google.com",
  "clients1.google.com",
  "clients2.google.com",
  "clients3.google.com",
  "clients4.google.com",
  "clientservices.googleapis.com",
  "content-autofill.googleapis.com",
  "edgedl.me.gvt1.com",
  "mtalk.google.com",
  "optimizationguide-pa.googleapis.com",
  "redirector.gvt1.com",
  "safebrowsing.googleapis.com",
  "update.googleapis.com",
]);
const REMEMBERED_MS = 5_000;
const MAX_REMEMBERED = 1_000;

export function createBrowserGuard(
  egress: Egress,
  first: EgressRules,
  lifetime: AbortSignal,
): BrowserGuard {
  let rules = first;
  let refusal: AppError | null = null;
  /** Hosts that the gate let through for any call of this session. */
  const judged = new Set(first.judged);
  const passed = new Map<string, number>();
  const loading = (): EgressRules => ({
    ...rules,
    policy: "public",
    judged,
    isBlocked: (host) => OWN_SERVICES.has(host) || rules.isBlocked(host),
  });

  const judge = async (url: string, top: boolean, signal: AbortSignal): Promise<void> => {
    const { href, origin } = httpUrl(url);
    if (top) {
      await egress.check(href, { rules: { ...rules, judged }, signal });
      return;
    }
    if ((passed.get(origin) ?? 0) > performance.now()) return;
    await egress.check(href, { rules: loading(), signal });
    if (passed.size >= MAX_REMEMBERED) passed.clear();
    passed.set(origin, performance.now() + REMEMBERED_MS);
  };
  const mayGo = async (url: string, top: boolean): Promise<boolean> => {
    try {
      await judge(url, top, lifetime);
      return true;
    } catch (cause) {
      if (top) refusal = cause instanceof AppError ? cause : unjudged(url);
      return false;
    }
  };

  return {
    loading,
    setRules(next) {
      rules = next;
      for (const host of next.judged) judged.add(host);
    },
    check: (url, signal) => judge(url, true, signal),
    async watch(context) {
      await context.route(
        () => true,
        async (route) => {
          const request = route.request();
          const may = await mayGo(request.url(), isTop(request));
          // The page may be gone by now; then there is nothing left to decide.
          await (may ? route.continue() : route.abort("blockedbyclient")).catch(() => undefined);
        },
      );
    },
    async watchPage(page) {
      // A route does not see where a redirect leads; this does.
      const session = await page.context().newCDPSession(page);
      const { frameTree } = await session.send("Page.getFrameTree");
      session.on("Fetch.requestPaused", ({ requestId, request, frameId, redirectedRequestId }) => {
        const answer = async () => {
          const redirected = redirectedRequestId !== undefined;
          if (!redirected || (await mayGo(request.url, frameId === frameTree.frame.id)))
            await session.send("Fetch.continueRequest", { requestId });
          else
            await session.send("Fetch.failRequest", { requestId, errorReason: "BlockedByClient" });
        };
        answer().catch(() => undefined);
      });
      await session.send("Fetch.enable", {
        patterns: [{ urlPattern: "*", resourceType: "Document" }],
      });
    },
    takeRefusal() {
      const taken = refusal;
      refusal = null;
      return taken;
    },
  };
}

/** A popup's first request has no frame yet; it is the top of its own page. */
function isTop(request: Request): boolean {
  if (!request.isNavigationRequest()) return false;
  try {
    return request.frame().parentFrame() === null;
  } catch {
    return true;
  }
}

function httpUrl(given: string): URL {
  const url = URL.parse(given);
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw egressBlocked(
    `${quoted(given)} is no http or https address`,
    "a browser goes to http:// and https:// addresses only",
  );
}

const unjudged = (url: string): AppError =>
  egressBlocked(`the egress guard could not judge ${quoted(url)}`, "try again later");
