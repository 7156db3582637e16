// Functions that run inside the page, so they use nothing from outside themselves. What they return is a page's own
// word.
import type { PageFacts, PageTable } from "./browser.ts";

/** As much of the DOM as these need. */
interface Node {
  readonly tagName: string;
  readonly textContent: string | null;
  readonly innerText?: string;
  readonly outerHTML: string;
  readonly attributes: ArrayLike<{ readonly name: string; readonly value: string }>;
  readonly children: ArrayLike<Node>;
  readonly rows?: ArrayLike<Node>;
  readonly cells?: ArrayLike<Node>;
  readonly labels?: ArrayLike<Node> | null;
  readonly options?: ArrayLike<Option>;
  readonly nextElementSibling: Node | null;
  readonly value?: string;
  readonly type?: string;
  readonly href?: string;
  readonly currentSrc?: string;
  readonly src?: string;
  readonly alt?: string;
  readonly naturalWidth?: number;
  readonly naturalHeight?: number;
  readonly content?: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  querySelectorAll(selector: string): ArrayLike<Node>;
  querySelector(selector: string): Node | null;
  matches(selector: string): boolean;
  cloneNode(deep: boolean): Node;
}
interface Option {
  readonly value: string;
  readonly label: string;
  readonly disabled: boolean;
  readonly selected: boolean;
}
interface Scrolling extends Node {
  scrollLeft: number;
  scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}
declare const document: Node & { readonly title: string; readonly scrollingElement: Scrolling };
declare const location: { readonly href: string };

export function describeElements(elements: Node[], most: number): string[] {
  return elements.slice(0, most).map((element) => {
    const marks = ["id", "name", "type", "aria-label", "href"].flatMap((name) => {
      const value = element.getAttribute(name);
      return value === null ? [] : [`${name}="${value.slice(0, 60)}"`];
    });
    const text = (element.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 60);
    return `<${[element.tagName.toLowerCase(), ...marks].join(" ")}>${text}`;
  });
}

export function optionsOf(element: Node): Option[] | null {
  if (element.tagName !== "SELECT" || !element.options) return null;
  return Array.from(element.options)
    .slice(0, 5_000)
    .map(({ value, label, disabled, selected }) => ({ value, label, disabled, selected }));
}

/** The page itself for its root. */
export function scrollElement(
  element: Node,
  way: { direction: string; amount: number | null },
): { x: number; y: number; atTop: boolean; atBottom: boolean } {
  const box = (element.tagName === "HTML" ? document.scrollingElement : element) as Scrolling;
  const step = way.amount ?? Math.max(1, Math.round(box.clientHeight * 0.9));
  if (way.direction === "top") box.scrollTop = 0;
  else if (way.direction === "bottom") box.scrollTop = box.scrollHeight;
  else box.scrollTop += way.direction === "up" ? -step : step;
  return {
    x: Math.round(box.scrollLeft),
    y: Math.round(box.scrollTop),
    atTop: box.scrollTop <= 0,
    atBottom: box.scrollTop + box.clientHeight >= box.scrollHeight - 1,
  };
}

export function pageHeight(): number {
  return document.scrollingElement.scrollHeight;
}

/** Visible text. */
export function textOf(elements: Node[], most: number): string {
  return elements
    .map((element) => element.innerText ?? element.textContent ?? "")
    .join("\n")
    .slice(0, most);
}

/** Markup without what stands in password fields. */
export function htmlOf(elements: Node[], most: number): string {
  const secret = 'input[type="password" i][value], input[autocomplete*="password" i][value]';
  return elements
    .map((element) => {
      if (!element.matches(secret) && !element.querySelector(secret)) return element.outerHTML;
      const copy = element.cloneNode(true);
      for (const input of [copy, ...Array.from(copy.querySelectorAll(secret))])
        if (input.matches(secret)) input.setAttribute("value", "");
      return copy.outerHTML;
    })
    .join("\n")
    .slice(0, most);
}

export function attributesOf(
  elements: Node[],
  most: number,
): { tag: string; text: string; attributes: Record<string, string> }[] {
  return elements.slice(0, most).map((element) => {
    const hidden = element.matches('input[type="password" i], input[autocomplete*="password" i]');
    return {
      tag: element.tagName.toLowerCase(),
      text: (element.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 200),
      attributes: Object.fromEntries(
        Array.from(element.attributes)
          .filter(({ name }) => !(hidden && name === "value"))
          .map(({ name, value }) => [name, value.slice(0, 2_000)]),
      ),
    };
  });
}

export function linksOf(elements: Node[], most: number): { text: string; url: string }[] {
  return elements
    .flatMap((element) => [
      ...(element.matches("a[href]") ? [element] : []),
      ...Array.from(element.querySelectorAll("a[href]")),
    ])
    .slice(0, most)
    .map((link) => ({
      text: (link.innerText ?? link.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 500),
      url: String(link.href ?? "").slice(0, 4_000),
    }));
}

export function imagesOf(
  elements: Node[],
  most: number,
): { alt: string; url: string; width: number; height: number }[] {
  return elements
    .flatMap((element) => [
      ...(element.matches("img") ? [element] : []),
      ...Array.from(element.querySelectorAll("img")),
    ])
    .slice(0, most)
    .map((image) => ({
      alt: String(image.alt ?? "").slice(0, 500),
      url: String(image.currentSrc || image.src || "").slice(0, 4_000),
      width: image.naturalWidth ?? 0,
      height: image.naturalHeight ?? 0,
    }));
}

export function tablesOf(elements: Node[], most: number): PageTable[] {
  const text = (node: Node | null) =>
    (node?.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 2_000);
  return elements
    .flatMap((element) => [
      ...(element.matches("table") ? [element] : []),
      ...Array.from(element.querySelectorAll("table")),
    ])
    .slice(0, 50)
    .map((table) => {
      const rows = Array.from(table.rows ?? []).slice(0, most);
      const head = rows.findIndex((row) =>
        Array.from(row.cells ?? []).some((cell) => cell.tagName === "TH"),
      );
      const isHead =
        head >= 0 && Array.from(rows[head]?.cells ?? []).every((cell) => cell.tagName === "TH");
      const cellsOf = (row: Node) =>
        Array.from(row.cells ?? [])
          .slice(0, 200)
          .map(text);
      return {
        caption: text(table.querySelector("caption")),
        headers: isHead && rows[head] ? cellsOf(rows[head]) : [],
        rows: rows.filter((_row, index) => !(isHead && index === head)).map(cellsOf),
      };
    });
}

export function factsOf(elements: Node[], most: number): Omit<PageFacts, "tables"> {
  const root = elements[0] ?? document;
  const clean = (text: string | null | undefined) =>
    (text ?? "").replace(/\s+/g, " ").trim().slice(0, 2_000);
  const pairs: [string, string][] = [];
  const add = (name: string | null | undefined, value: string | null | undefined) => {
    const key = clean(name).replace(/[:：]$/, "");
    if (key !== "" && key.length <= 100 && clean(value) !== "" && pairs.length < most)
      pairs.push([key, clean(value)]);
  };
  const all = (selector: string) => Array.from(root.querySelectorAll(selector)).slice(0, most);
  for (const item of all("[itemprop]"))
    add(
      item.getAttribute("itemprop"),
      item.getAttribute("content") ??
        item.getAttribute("datetime") ??
        item.innerText ??
        item.textContent,
    );
  for (const term of all("dt"))
    if (term.nextElementSibling?.tagName === "DD")
      add(term.textContent, term.nextElementSibling.textContent);
  for (const row of all("tr")) {
    const [head, cell, more] = Array.from(row.cells ?? []);
    if (head?.tagName === "TH" && cell?.tagName === "TD" && !more)
      add(head.textContent, cell.textContent);
  }
  for (const field of all("input, select, textarea")) {
    if (
      /^(password|hidden|submit|button|file|image)$/i.test(field.type ?? "") ||
      field.matches('[autocomplete*="password" i]')
    )
      continue;
    for (const name of [
      field.getAttribute("aria-label"),
      field.labels?.[0]?.textContent,
      field.getAttribute("name"),
    ])
      add(name, field.value);
  }
  for (const part of all("[data-field], [data-testid], [id], [class]")) {
    if (part.children.length > 0) continue;
    for (const name of ["data-field", "data-testid", "id", "class"])
      add(part.getAttribute(name), part.textContent);
  }
  for (const line of all("p, li, div, span, td").filter((part) => part.children.length <= 1)) {
    const found = /^([\p{L}][\p{L}\p{N} _-]{0,40})\s*[:：]\s*(.+)$/u.exec(clean(line.textContent));
    if (found) add(found[1], found[2]);
  }
  for (const meta of Array.from(document.querySelectorAll("meta[content]")).slice(0, 200))
    add(
      meta.getAttribute("property") ?? meta.getAttribute("name") ?? meta.getAttribute("itemprop"),
      meta.content,
    );
  add("title", document.title);
  const heading = root.querySelector("h1");
  for (const name of ["heading", "headline", "name"]) add(name, heading?.textContent);
  add("url", location.href);
  const lists = all("ul, ol")
    .slice(0, 100)
    .map((list) => ({
      name: clean(
        list.getAttribute("aria-label") ??
          list.getAttribute("itemprop") ??
          list.getAttribute("id") ??
          list.getAttribute("class"),
      ),
      items: Array.from(list.children)
        .slice(0, 500)
        .map((item) => clean(item.textContent)),
    }));
  const linkedData = Array.from(document.querySelectorAll('script[type="application/ld+json"]'))
    .slice(0, 20)
    .map((script) => (script.textContent ?? "").slice(0, 200_000));
  return { title: clean(document.title), url: location.href, pairs, lists, linkedData };
}

export function secretValues(elements: Node[]): string[] {
  return elements.map((element) => element.value ?? "").filter((value) => value !== "");
}
