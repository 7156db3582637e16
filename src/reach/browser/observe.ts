// What can be done on a page, as assistive technology sees it. Each element has a ref that works as a selector.
import type { Page } from "playwright-core";
import { secretValues } from "./in-page.ts";

export interface Element {
  ref: string;
  role: string;
  name: string;
  value?: string;
  enabled: boolean;
}

/** A node of the driver's snapshot, as far as we read it. */
interface Seen {
  readonly role?: unknown;
  readonly name?: unknown;
  readonly ref?: unknown;
  readonly text?: unknown;
  readonly cursor?: unknown;
  readonly checked?: unknown;
  readonly pressed?: unknown;
  readonly selected?: unknown;
  readonly disabled?: unknown;
  readonly children?: unknown;
}

const SHOWN = new Set([
  "button",
  "link",
  "textbox",
  "searchbox",
  "combobox",
  "listbox",
  "checkbox",
  "radio",
  "switch",
  "slider",
  "spinbutton",
  "tab",
  "menuitem",
  "menuitemcheckbox",
  "menuitemradio",
  "option",
  "treeitem",
  "gridcell",
  "heading",
  "img",
  "alert",
  "status",
  "dialog",
  "alertdialog",
]);
const PASSIVE = new Set(["heading", "img", "alert", "status", "dialog", "alertdialog"]);
const NAME_LENGTH = 300;
const VALUE_LENGTH = 1_000;

export async function observe(
  page: Page,
  options: { maxElements: number; instruction?: string },
  signal: AbortSignal,
): Promise<{ elements: Element[]; truncated: boolean }> {
  const snapshot: unknown = await page.ariaSnapshotJSON({ mode: "ai", timeout: 0, signal });
  const secrets = await secretsIn(page);
  const elements: Element[] = [];
  collect(Array.isArray(snapshot) ? snapshot : [snapshot], secrets, elements);
  const ordered =
    options.instruction === undefined ? elements : byRelevance(elements, options.instruction);
  return {
    elements: ordered.slice(0, options.maxElements),
    truncated: ordered.length > options.maxElements,
  };
}

function collect(nodes: readonly unknown[], secrets: ReadonlySet<string>, into: Element[]): void {
  for (const node of nodes) {
    if (typeof node !== "object" || node === null) continue;
    const { role, ref, disabled, cursor, children, ...seen } = node as Seen;
    if (
      typeof role === "string" &&
      typeof ref === "string" &&
      (SHOWN.has(role) || cursor === "pointer")
    ) {
      const value = valueOf({ ...seen, role, children });
      const name =
        typeof seen.name === "string" ? seen.name : value === undefined ? textIn(node) : "";
      into.push({
        ref: `ref=${ref}`,
        role,
        name: name.slice(0, NAME_LENGTH),
        ...(value !== undefined && !secrets.has(value) && { value: value.slice(0, VALUE_LENGTH) }),
        enabled: disabled !== true,
      });
    }
    if (Array.isArray(children)) collect(children, secrets, into);
  }
}

function valueOf({ role, text, checked, pressed, selected, children }: Seen): string | undefined {
  for (const state of [checked, pressed, selected])
    if (state !== undefined) return state === true ? "true" : state === false ? "false" : "mixed";
  if (role === "combobox" || role === "listbox") {
    const chosen = (Array.isArray(children) ? (children as Seen[]) : []).filter(
      (child) => child.selected === true,
    );
    if (chosen.length > 0) return chosen.map((child) => String(child.name as string)).join(", ");
  }
  return /^(textbox|searchbox|combobox|spinbutton|slider)$/.test(String(role)) &&
    typeof text === "string"
    ? text
    : undefined;
}

function textIn(node: Seen): string {
  if (typeof node.text === "string") return node.text;
  const children: readonly unknown[] = Array.isArray(node.children) ? node.children : [];
  return children
    .map((child) =>
      typeof child === "string"
        ? child
        : typeof child === "object" && child !== null
          ? textIn(child)
          : "",
    )
    .join(" ")
    .trim();
}

async function secretsIn(page: Page): Promise<ReadonlySet<string>> {
  const fields = 'input[type="password" i], input[autocomplete*="password" i]';
  const found = await Promise.all(
    page.frames().map((frame) =>
      frame
        .locator(fields)
        .evaluateAll(secretValues)
        .catch(() => []),
    ),
  );
  return new Set(found.flat());
}

/**
 * Elements that share words with what is looked for come first, those that do something before those that only say
 * it.
 */
function byRelevance(elements: readonly Element[], instruction: string): Element[] {
  const words = new Set(wordsOf(instruction));
  const score = ({ role, name, value }: Element) => {
    const shared = wordsOf(`${role} ${name} ${value ?? ""}`).filter((word) =>
      words.has(word),
    ).length;
    return shared === 0 || PASSIVE.has(role) ? shared : shared + 0.5;
  };
  return elements
    .map((element, index) => ({ element, index, score: score(element) }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .map(({ element }) => element);
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
