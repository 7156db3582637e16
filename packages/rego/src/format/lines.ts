// Lines, indentation, spaces and blank lines of formatted modules.
import type { TokenKind } from "../parse/lex.ts";

/** What a token starts: a rule is a "line" when it is written on one, without braces. */
export type Statement = "package" | "import" | "line" | "rule";

export interface Item {
  readonly kind: TokenKind | "comment";
  readonly text: string;
  readonly offset: number;
  readonly end: number;
  readonly line: number;
  readonly endLine: number;
  readonly spaced: boolean;
  readonly role: "body" | "comprehension" | "plain";
  readonly isKeyword: boolean;
  readonly statement: Statement | undefined;
}

interface Open {
  readonly item: Item;
  readonly isCall: boolean;
  /** The line of the result it stands on. */
  readonly line: number;
  /** Its contents are on lines of their own. */
  readonly broken: boolean;
}

class Layout {
  readonly items: readonly Item[];
  readonly lines: string[] = [];
  readonly open: Open[] = [];
  /** Opening brackets whose contents stand on more than their line. */
  readonly spanning: ReadonlySet<Item>;
  current = "";
  previous: Item | undefined;
  breakNext = false;
  /** The kind of the statement being written, and of the one that starts next. */
  statement: Statement | undefined;

  constructor(items: readonly Item[]) {
    this.items = items;
    this.spanning = spanningBrackets(items);
  }

  flush(): void {
    if (this.current !== "") this.lines.push(this.current.trimEnd());
    this.current = "";
  }
}

/** A list spans lines when one of its elements starts on another line, a comprehension when it ends on one. */
function spanningBrackets(items: readonly Item[]): ReadonlySet<Item> {
  const spanning = new Set<Item>();
  const open: Item[] = [];
  let previous: Item | undefined;
  for (const item of items) {
    const inner = open.at(-1);
    const startsElement = previous !== undefined && (previous === inner || isSign(previous, ","));
    if (isClosing(item)) {
      const start = open.pop();
      if (start?.role === "comprehension" && item.line > start.line) spanning.add(start);
    } else if (inner && startsElement && item.line > inner.line && inner.role !== "comprehension") {
      spanning.add(inner);
    }
    if (isOpening(item)) open.push(item);
    if (item.kind !== "comment") previous = item;
  }
  return spanning;
}

export function layOut(items: readonly Item[]): string {
  const layout = new Layout(items);
  items.forEach((_, i) => {
    place(layout, i);
  });
  layout.flush();
  return `${layout.lines.join("\n").trim()}\n`;
}

function place(layout: Layout, index: number): void {
  const item = layout.items[index] as Item;
  const { previous } = layout;
  const inside = layout.open.at(-1);
  if (isSign(item, ";") && (inside?.broken || !inside)) {
    // Between lines a line break separates as a semicolon does.
    layout.breakNext = true;
    return;
  }
  const closed = isClosing(item) ? layout.open.pop() : undefined;
  if (previous) breakBefore(layout, index, previous, closed);
  if (layout.current === "") layout.current = "\t".repeat(indentation(layout));
  else if (previous && needsSpace(previous, item, layout, closed)) layout.current += " ";
  layout.current += item.text;
  layout.previous = item;
  if (item.statement) layout.statement = item.statement;
  if (isOpening(item)) open(layout, item, previous);
  if (isSign(item, "|") && inside?.item.role === "comprehension" && inside.broken)
    layout.breakNext = true;
}

function open(layout: Layout, item: Item, previous: Item | undefined): void {
  const broken = item.role === "body" || layout.spanning.has(item);
  const isCall =
    item.text === "(" && previous !== undefined && !item.spaced && previous.kind !== "punct";
  layout.open.push({ item, isCall, broken, line: layout.lines.length });
  if (broken && item.role !== "comprehension") layout.breakNext = true;
}

function isSign(item: Item, text: string): boolean {
  return item.kind === "punct" && item.text === text;
}

function isOpening(item: Item): boolean {
  return item.kind === "punct" && ["(", "[", "{"].includes(item.text);
}

function isClosing(item: Item): boolean {
  return item.kind === "punct" && [")", "]", "}"].includes(item.text);
}

function breakBefore(
  layout: Layout,
  index: number,
  previous: Item,
  closed: Open | undefined,
): void {
  const item = layout.items[index] as Item;
  const sameLine = item.line === previous.endLine;
  // A comment at the end of a line stays there, whatever else must break.
  if (item.kind === "comment" && sameLine) return;
  const mustBreak =
    layout.breakNext ||
    closed?.broken === true ||
    previous.kind === "comment" ||
    item.statement !== undefined;
  layout.breakNext = false;
  if (sameLine && !mustBreak) return;
  if (staysOnLine(item, previous)) return;
  if (closed?.broken && needsComma(closed, previous)) layout.current += ",";
  layout.flush();
  if (wantsBlank(layout, index, previous, closed)) layout.lines.push("");
}

/** `} else` and the brace of a body belong to the line before. */
function staysOnLine(item: Item, previous: Item): boolean {
  if (previous.kind === "comment") return false;
  if (item.statement !== undefined) return false;
  if (item.text === "else" && item.isKeyword && previous.text === "}") return true;
  return item.role === "body" && previous.kind === "ident" && previous.isKeyword;
}

function needsComma(closed: Open, previous: Item): boolean {
  const { item, isCall } = closed;
  if (item.role !== "plain" || (item.text === "(" && !isCall)) return false;
  return previous.text !== "," && previous !== item && previous.kind !== "comment";
}

function wantsBlank(
  layout: Layout,
  index: number,
  previous: Item,
  closed: Open | undefined,
): boolean {
  const item = layout.items[index] as Item;
  if (layout.lines.length === 0 || closed !== undefined || isOpening(previous)) return false;
  const apart = item.line > previous.endLine + 1;
  if (layout.open.length > 0 || layout.statement === undefined) return apart;
  const next = nextStatement(layout.items, index);
  // The comments above a statement already stand apart from what precedes them.
  if (next === undefined || isLeading(layout, previous)) return apart;
  const isPlain = next === layout.statement && (next === "import" || next === "line");
  return apart || !isPlain;
}

function isLeading(layout: Layout, previous: Item): boolean {
  const line = layout.lines.at(-1) ?? "";
  return previous.kind === "comment" && line.startsWith("#");
}

/** The statement that starts here or after the comments that start here. */
function nextStatement(items: readonly Item[], index: number): Statement | undefined {
  for (let i = index; i < items.length; i++) {
    const item = items[i] as Item;
    if (item.kind !== "comment") return item.statement;
    if (i > index && item.line > (items[i - 1] as Item).line + 1) return undefined;
  }
  return undefined;
}

function indentation(layout: Layout): number {
  // Brackets opened on one line indent what follows only once.
  const lines = new Set<number>();
  for (const { line, broken } of layout.open) if (broken) lines.add(line);
  return lines.size;
}

const TIGHT_AFTER = new Set(["(", "[", "."]);
const TIGHT_BEFORE = new Set([")", "]", ",", ".", ";", ":"]);

function needsSpace(previous: Item, item: Item, layout: Layout, closed: Open | undefined): boolean {
  if (item.kind === "comment") return true;
  if (previous.kind === "punct") {
    if (TIGHT_AFTER.has(previous.text)) return false;
    if (previous.text === "{") return previous.role === "body";
    // A sign of a number or name: -1, -x.
    if (previous.text === "-" && isUnary(layout)) return false;
  }
  if (item.kind !== "punct") return true;
  if (TIGHT_BEFORE.has(item.text)) return false;
  if (item.text === "}") return closed?.item.role === "body";
  if (item.text === "(" || item.text === "[") return item.spaced || isOperator(previous);
  return true;
}

function isOperator(item: Item): boolean {
  return item.kind === "punct" && !isClosing(item);
}

// A minus is unary when it follows a sign or opens the expression.
function isUnary(layout: Layout): boolean {
  return /(?:^|[-=<>+*/%&|,:;([{]\s*)-$/.test(layout.current.trimStart());
}
