// PDF: the text of its pages.
import { getDocumentProxy, getMeta } from "unpdf";
import type { ReadDocument } from "../documents.ts";
import { UnreadableDocument, encrypted, unreadable } from "../fault.ts";

const MAX_PAGES = 5_000;

export async function readPdf(
  bytes: Uint8Array,
  wanted: string | undefined,
): Promise<ReadDocument> {
  const pdf = await open(bytes);
  const pages = Math.min(pdf.numPages, MAX_PAGES);
  const texts: string[] = [];
  for (const number of pagesOf(wanted, pages)) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    texts.push(
      items
        .map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : ""))
        .join("")
        .trim(),
    );
    page.cleanup();
  }
  const info: Readonly<Record<string, unknown>> = (await getMeta(pdf).catch(() => ({ info: {} })))
    .info;
  const infoOf = (key: string): string | null =>
    typeof info[key] === "string" && info[key].trim() !== "" ? info[key] : null;
  return {
    text: texts.join("\n\n"),
    title: infoOf("Title"),
    byline: infoOf("Author"),
    published: dateOf(infoOf("CreationDate")),
    language: infoOf("Language"),
    description: infoOf("Subject"),
    links: [],
    mime: "application/pdf",
    pages: pdf.numPages,
  };
}

async function open(bytes: Uint8Array): Promise<Awaited<ReturnType<typeof getDocumentProxy>>> {
  try {
    return await getDocumentProxy(bytes, {
      disableFontFace: true,
      useSystemFonts: false,
      verbosity: 0,
    });
  } catch (cause) {
    if (cause instanceof Error && cause.name === "PasswordException") throw encrypted();
    throw unreadable("PDF");
  }
}

/** `1-3,7` as page numbers, each once, in the order given. */
export function pagesOf(wanted: string | undefined, pages: number): number[] {
  if (wanted === undefined) return Array.from({ length: pages }, (_, index) => index + 1);
  const chosen = new Set<number>();
  for (const part of wanted.split(",")) {
    const match = /^\s*(\d{1,6})\s*(?:-\s*(\d{1,6})?\s*)?$/.exec(part);
    if (!match)
      throw invalid(`expected pages like 1-3,7, got ${JSON.stringify(wanted.slice(0, 60))}`);
    const first = Number(match[1]);
    const last = part.includes("-") ? Number(match[2] ?? pages) : first;
    if (first < 1 || last < first || first > pages)
      throw invalid(`page ${part.trim()} is not there: the document has ${pages}`);
    for (let number = first; number <= Math.min(last, pages); number++) chosen.add(number);
  }
  return [...chosen];
}

const invalid = (message: string) =>
  new UnreadableDocument("pages_invalid", message, "name pages from 1, e.g. 1-3,7");

/** `D:20240102030405+01'00'` */
function dateOf(text: string | null): string | null {
  const match = /^D:(\d{4})(\d{2})?(\d{2})?/.exec(text ?? "");
  return match ? [match[1], match[2] ?? "01", match[3] ?? "01"].join("-") : null;
}
