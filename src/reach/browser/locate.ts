// From a selector to the one element it means.
import type { Locator, Page } from "playwright-core";
import { badArgument, fault, firstLine, quoted } from "./faults.ts";
import { describeElements } from "./in-page.ts";
import { pause } from "./abortable.ts";

const LOCATE_MS = 3_000;
const POLL_MS = 100;
const LISTED = 5;

/** CSS, `text=…`, `role=…[name=…]`, or `ref=…` from observe. Other engines of the driver are not offered. */
export function locatorOf(page: Page, selector: string): Locator {
  const ref = /^ref=([a-z0-9]{1,20})$/.exec(selector.trim())?.[1];
  if (ref !== undefined) return page.locator(`aria-ref=${ref}`);
  return page.locator(/^(text|role|css)=/.test(selector) ? selector : `css=${selector}`);
}

/** The one visible element; waits a little for it to appear. */
export async function locateOne(
  page: Page,
  selector: string,
  signal: AbortSignal,
): Promise<Locator> {
  const all = locatorOf(page, selector);
  const visible = all.filter({ visible: true });
  const end = performance.now() + LOCATE_MS;
  for (;;) {
    const count = await counted(visible, selector);
    if (count === 1) return visible;
    if (count > 1) throw await ambiguous(visible, selector, count);
    if (signal.aborted || performance.now() > end) break;
    await pause(POLL_MS, signal);
  }
  if ((await counted(all, selector)) === 0) throw notFound(selector);
  throw fault(
    "not_visible",
    `${quoted(selector)} is on the page but not visible`,
    "scroll, open what hides it, or take browser/observe to see what can be reached",
  );
}

/** Everything it matches, visible or not, at least one. */
export async function locateAll(
  page: Page,
  selector: string,
  signal: AbortSignal,
): Promise<Locator> {
  const all = locatorOf(page, selector);
  const end = performance.now() + LOCATE_MS;
  while ((await counted(all, selector)) === 0) {
    if (signal.aborted || performance.now() > end) throw notFound(selector);
    await pause(POLL_MS, signal);
  }
  return all;
}

async function counted(locator: Locator, selector: string): Promise<number> {
  try {
    return await locator.count();
  } catch (cause) {
    const text = firstLine(cause);
    if (/selector|token|parsing|role|attribute|unexpected/i.test(text))
      throw badArgument(
        "/selector",
        `${quoted(selector)} is no selector: ${text}`,
        'use CSS, text=…, role=button[name="…"], or ref=… from browser/observe',
      );
    throw cause;
  }
}

function notFound(selector: string): Error {
  const remedy = selector.startsWith("ref=")
    ? "refs hold until the page changes: observe it again"
    : "read the page with browser/observe and use a ref, or wait for it with browser/wait";
  return fault("selector_not_found", `nothing on the page matches ${quoted(selector)}`, remedy);
}

async function ambiguous(locator: Locator, selector: string, count: number): Promise<Error> {
  const listed = await locator.evaluateAll(describeElements, LISTED);
  return fault(
    "selector_ambiguous",
    `${quoted(selector)} matches ${count} elements: ${listed.join(" · ")}`,
    "be more specific, or take a ref from browser/observe",
  );
}
