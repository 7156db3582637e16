// Reading a page: text, markup, attributes, links, images, tables, and what it says about itself.
import type { Locator, Page } from "playwright-core";
import type { Json } from "../../contract/call.ts";
import type { ExtractType, PageFacts } from "./browser.ts";
import { attributesOf, factsOf, htmlOf, imagesOf, linksOf, tablesOf, textOf } from "./in-page.ts";
import { locateAll } from "./locate.ts";

const MAX_CHARS = 4_000_000;
const MAX_ENTRIES = 5_000;
const MAX_ROWS = 10_000;

export async function extract(
  page: Page,
  options: { type: ExtractType; selector?: string },
  signal: AbortSignal,
): Promise<{ url: string; data: Json }> {
  const part = await partOf(
    page,
    options.selector,
    options.type === "html" || options.type === "attributes" ? "html" : "body",
    signal,
  );
  return { url: page.url(), data: await read(part, options.type) };
}

async function read(part: Locator, type: ExtractType): Promise<Json> {
  switch (type) {
    case "text":
      return part.evaluateAll(textOf, MAX_CHARS);
    case "html":
      return part.evaluateAll(htmlOf, MAX_CHARS);
    case "attributes":
      return part.evaluateAll(attributesOf, MAX_ENTRIES);
    case "links":
      return part.evaluateAll(linksOf, MAX_ENTRIES);
    case "images":
      return part.evaluateAll(imagesOf, MAX_ENTRIES);
    case "table":
      return (await part.evaluateAll(tablesOf, MAX_ROWS)) as unknown as Json; // plain data by type
  }
}

export async function facts(
  page: Page,
  selector: string | undefined,
  signal: AbortSignal,
): Promise<{ url: string; facts: PageFacts }> {
  const part = await partOf(page, selector, "body", signal);
  const found = await part.evaluateAll(factsOf, MAX_ENTRIES);
  const tables = await part.evaluateAll(tablesOf, MAX_ROWS);
  return { url: page.url(), facts: { ...found, tables } };
}

const partOf = (
  page: Page,
  selector: string | undefined,
  whole: string,
  signal: AbortSignal,
): Promise<Locator> =>
  selector === undefined
    ? Promise.resolve(page.locator(`css=${whole}`).first())
    : locateAll(page, selector, signal);
