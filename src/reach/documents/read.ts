// Which reader a document goes to. Runs inside the sandbox only; the readers are loaded when one is needed.
import { textOf } from "./charset.ts";
import type { DocumentInput, ReadDocument } from "./documents.ts";
import { unsupported } from "./fault.ts";
import { recognise } from "./kind.ts";

const MAX_TEXT_CHARS = 4_000_000;

export async function readDocument(input: DocumentInput): Promise<ReadDocument> {
  const read = await readAs(input);
  if (read.text.length <= MAX_TEXT_CHARS) return read;
  return { ...read, text: read.text.slice(0, MAX_TEXT_CHARS).toWellFormed(), truncated: true };
}

async function readAs(input: DocumentInput): Promise<ReadDocument> {
  const { kind, mime, charset } = recognise(input.bytes, input.mime, input.name);
  switch (kind) {
    case "html":
      return (await import("./readers/html.ts")).readHtml(
        textOf(input.bytes, charset, true),
        input,
        mime,
      );
    case "pdf":
      return (await import("./readers/pdf.ts")).readPdf(input.bytes, input.pages);
    case "docx":
      return (await import("./readers/docx.ts")).readDocx(input.bytes, input.format);
    case "csv":
      return (await import("./readers/csv.ts")).readCsv(
        textOf(input.bytes, charset, false),
        input,
        mime,
      );
    case "text":
      return plain(textOf(input.bytes, charset, false), mime);
    case "image":
      throw unsupported(mime, "set ocr to read the text in an image");
  }
}

function plain(text: string, mime: string): ReadDocument {
  return {
    text,
    title: null,
    byline: null,
    published: null,
    language: null,
    description: null,
    links: [],
    mime,
  };
}
