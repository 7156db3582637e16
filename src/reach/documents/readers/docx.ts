// Word: the text with its headings, lists and tables. Images are left out.
import mammoth from "mammoth";
import type { DocumentInput, ReadDocument } from "../documents.ts";
import { unreadable } from "../fault.ts";
import { DOCX } from "../kind.ts";
import { unpack } from "../zip.ts";
import { readHtml } from "./html.ts";

const CORE = "docProps/core.xml";

export async function readDocx(
  bytes: Uint8Array,
  format: DocumentInput["format"],
): Promise<ReadDocument> {
  const facts =
    unpack(bytes, new Set([CORE]))
      .get(CORE)
      ?.toString("utf8") ?? "";
  let html: string;
  try {
    const noImages = mammoth.images.imgElement(() => Promise.resolve({ src: "" }));
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    html = (
      await mammoth.convertToHtml({ buffer }, { convertImage: noImages, externalFileAccess: false })
    ).value;
  } catch {
    throw unreadable("Word document");
  }
  // Without a title of its own the first heading would be taken for it, and left out.
  const whole = `<html><head><title>${DOCX}</title></head><body>${html.replace(/<img[^>]*>/g, "")}</body></html>`;
  const page = await readHtml(whole, { format, mainContentOnly: false }, DOCX);
  return {
    ...page,
    title: fact(facts, "dc:title"),
    byline: fact(facts, "dc:creator"),
    published: fact(facts, "dcterms:created"),
    language: fact(facts, "dc:language"),
    description: fact(facts, "dc:description"),
  };
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function fact(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}[^>]*>([^<]*)</${name}>`).exec(xml)?.[1]?.trim() ?? "";
  return text === ""
    ? null
    : text.replace(/&(amp|lt|gt|quot|apos);/g, (_, entity: string) => ENTITIES[entity] ?? "");
}
