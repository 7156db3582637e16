// Doing things on a page: click, type, select, scroll, wait.
import type { Locator, Page } from "playwright-core";
import type { BrowserSession } from "../../contract/powers/browser.ts";
import { fault, firstLine, quoted, badArgument } from "./faults.ts";
import { optionsOf, scrollElement } from "./in-page.ts";
import { locateOne, locatorOf } from "./locate.ts";
import type { LiveSession } from "./session.ts";
import { settled } from "./settle.ts";
import { pause } from "./abortable.ts";

type Options<Name extends keyof BrowserSession, At extends number> = Parameters<
  BrowserSession[Name]
>[At];

const ACT_MS = 5_000;
const LISTED_OPTIONS = 20;
/** Longer texts are put in at once, not key by key. */
const KEYED_LENGTH = 200;
const PICKED = /^(date|time|month|week|datetime-local|color|range)$/;

export async function click(
  session: LiveSession,
  page: Page,
  selector: string,
  options: Options<"click", 1>,
  signal: AbortSignal,
) {
  const target = await locateOne(page, selector, signal);
  const { button, count } = options;
  return settled(
    session,
    page,
    () => acted(selector, target.click({ button, clickCount: count, timeout: ACT_MS, signal })),
    signal,
  );
}

/** Answers the dialog that is open. */
export async function answerDialog(
  session: LiveSession,
  page: Page,
  answer: { accept: boolean; text?: string },
  signal: AbortSignal,
) {
  const { current } = session.dialog;
  if (!current)
    throw fault("selector_not_found", "no dialog is open", "use dialog=… only after dialog_open");
  return settled(
    session,
    page,
    async () => {
      session.dialog.current = null;
      await (answer.accept ? current.accept(answer.text) : current.dismiss());
    },
    signal,
  );
}

export async function type(
  session: LiveSession,
  page: Page,
  input: { selector: string; text: string; clear: boolean; submit: boolean },
  signal: AbortSignal,
) {
  const { selector, text } = input;
  const target = await locateOne(page, selector, signal);
  if (!(await target.isEditable({ timeout: ACT_MS }).catch(() => false)))
    throw fault(
      "not_editable",
      `${quoted(selector)} takes no text: it is no field, or it is read-only or disabled`,
      "take browser/observe and choose an enabled textbox",
    );
  return settled(
    session,
    page,
    async () => {
      await acted(selector, enter(page, target, input, signal), "not_editable");
      if (input.submit) await acted(selector, target.press("Enter", { timeout: ACT_MS, signal }));
    },
    signal,
  ).then(({ url, navigated }) => ({ url, navigated, typed: text.length }));
}

async function enter(
  page: Page,
  target: Locator,
  { text, clear }: { text: string; clear: boolean },
  signal: AbortSignal,
) {
  const kind = (await target.getAttribute("type", { timeout: ACT_MS })) ?? "";
  if (clear || PICKED.test(kind.toLowerCase()))
    return target.fill(text, { timeout: ACT_MS, signal });
  await target.focus({ timeout: ACT_MS, signal });
  await page.keyboard.press("Control+End");
  if (text.length <= KEYED_LENGTH && !/[\r\n]/.test(text))
    return target.pressSequentially(text, { timeout: ACT_MS * 2, signal });
  await page.keyboard.insertText(text);
}

export async function select(
  page: Page,
  selector: string,
  choice: Options<"select", 1>,
  signal: AbortSignal,
) {
  const target = await locateOne(page, selector, signal);
  const options = await target.evaluate(optionsOf);
  if (!options)
    throw fault(
      "not_editable",
      `${quoted(selector)} is no <select> element`,
      "click it with browser/click, observe, and click the option",
    );
  const at = options.findIndex((option, index) => {
    if ("value" in choice) return option.value === choice.value;
    if ("label" in choice) return option.label.trim() === choice.label.trim();
    return index === choice.index;
  });
  const found = options[at];
  if (!found || found.disabled) {
    const listed = options
      .slice(0, LISTED_OPTIONS)
      .map(
        ({ value, label, disabled }, index) =>
          `${index}: ${quoted(label)} (value ${quoted(value)}${disabled ? ", disabled" : ""})`,
      );
    const more =
      options.length > LISTED_OPTIONS ? ` and ${options.length - LISTED_OPTIONS} more` : "";
    throw fault(
      "option_not_found",
      `no enabled option ${JSON.stringify(choice)} in ${quoted(selector)}; there are ${listed.join(", ") || "none"}${more}`,
      "choose one of these",
    );
  }
  await acted(selector, target.selectOption({ index: at }, { timeout: ACT_MS, signal }));
  const after = (await target.evaluate(optionsOf)) ?? [];
  return after.filter((option) => option.selected).map(({ value, label }) => ({ value, label }));
}

export async function scroll(page: Page, options: Options<"scroll", 0>, signal: AbortSignal) {
  const way = { direction: options.direction, amount: options.amount ?? null };
  const target =
    options.selector === undefined
      ? page.locator("css=html")
      : await locateOne(page, options.selector, signal);
  return target.evaluate(scrollElement, way);
}

export async function wait(
  page: Page,
  options: Options<"wait", 0>,
  longestMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { type: kind, value } = options;
  const ms = Math.min(longestMs, typeof value === "number" ? value : longestMs);
  const met = (waiting: Promise<unknown>) =>
    waiting.then(
      () => true,
      (cause: unknown) => {
        if (cause instanceof Error && cause.name === "TimeoutError") return false;
        throw cause;
      },
    );
  switch (kind) {
    case "timeout":
      if (typeof value !== "number")
        throw badArgument(
          "/value",
          "timeout needs a number of milliseconds",
          "send value as a whole number up to 60000",
        );
      await pause(ms, signal);
      return ms === value;
    case "navigation":
      return met(
        page.waitForEvent("framenavigated", {
          predicate: (frame) => frame === page.mainFrame(),
          timeout: ms,
          signal,
        }),
      );
    case "selector":
      return met(
        locatorOf(page, textIn(value, kind))
          .first()
          .waitFor({ state: "visible", timeout: ms, signal }),
      );
    case "text":
      return met(
        page
          .getByText(textIn(value, kind))
          .first()
          .waitFor({ state: "visible", timeout: ms, signal }),
      );
  }
}

function textIn(value: string | number | undefined, kind: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw badArgument(
    "/value",
    `${kind} needs a text to wait for`,
    `send value as the ${kind} to appear`,
  );
}

/** An action that did not happen in time: says why, as far as the driver knows. */
async function acted<T>(
  selector: string,
  action: Promise<T>,
  otherwise = "not_visible",
): Promise<T> {
  try {
    return await action;
  } catch (cause) {
    if (!(cause instanceof Error) || /closed|aborted/i.test(cause.message)) throw cause;
    const { message } = cause;
    if (cause.name !== "TimeoutError")
      throw fault(
        otherwise,
        `${quoted(selector)}: ${firstLine(cause)}`,
        "take browser/observe to see what the page offers",
      );
    if (/not enabled/.test(message))
      throw fault("not_enabled", `${quoted(selector)} is disabled`, "do first what enables it");
    const covered = /<[^>]{1,200}>.{0,80}intercepts pointer events/.exec(message)?.[0];
    throw fault(
      "not_visible",
      `${quoted(selector)} could not be reached${covered ? `: ${covered}` : ""}`,
      "close what covers it, scroll to it, or wait until it stands still",
    );
  }
}
