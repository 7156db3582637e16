// What a document really is: its own bytes first, then what was declared, then its name.
import { mimeOf, mimeOfName } from "../../util/files/mime.ts";
import { encrypted, unsupported } from "./fault.ts";
import { entriesOf } from "./zip.ts";

export const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
export type DocumentKindName = "html" | "pdf" | "docx" | "csv" | "text" | "image";

export interface Recognised {
  readonly kind: DocumentKindName;
  readonly mime: string;
  /** Of a text: as declared. */
  readonly charset: string | null;
}

const SNIFFED_BYTES = 8_192;
const MARKUP = /^\s*(?:<!--[\s\S]*?-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]/i;
const CONTAINERS: readonly (readonly [entry: string, mime: string])[] = [
  ["word/document.xml", DOCX],
  ["xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  [
    "ppt/presentation.xml",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  ],
];

export function recognise(bytes: Uint8Array, declared: string, name: string): Recognised {
  const [given = "", ...parameters] = declared
    .toLowerCase()
    .split(";")
    .map((part) => part.trim());
  const charset =
    parameters
      .map((part) => /^charset="?([\w.:-]+)"?$/.exec(part)?.[1])
      .find((found) => found !== undefined) ?? null;
  const start = Buffer.from(bytes.subarray(0, SNIFFED_BYTES));
  const is = (kind: DocumentKindName, mime: string): Recognised => ({ kind, mime, charset });
  if (start.subarray(0, 1_024).includes("%PDF-")) return is("pdf", "application/pdf");
  if (start.subarray(0, 4).equals(Buffer.from("PK\x03\x04"))) return zipKind(bytes, is);
  const wide = start[0] === 0xff || start[0] === 0xfe;
  const signed = mimeOf("", start, true);
  if (/^image\/(?!svg)/.test(signed)) return is("image", signed);
  // Word wraps a protected document into the storage of its older formats.
  if (signed === "application/x-ole-storage")
    throw isProtected(bytes)
      ? encrypted()
      : unsupported("application/msword", "save it as docx or PDF");
  if (signed !== "application/octet-stream" && start.includes(0)) throw unsupported(signed);
  if (start.includes(0) && !wide) throw unsupported(binaryMime(given, name));
  return textKind(start, given, name, is);
}

function textKind(
  start: Buffer,
  given: string,
  name: string,
  is: (kind: DocumentKindName, mime: string) => Recognised,
): Recognised {
  const vague = given === "" || given === "application/octet-stream" || given === "text/plain";
  const mime = vague
    ? (mimeOfName(name) ?? (MARKUP.test(start.toString("latin1")) ? "text/html" : "text/plain"))
    : given;
  if (mime === "text/html" || mime === "application/xhtml+xml") return is("html", mime);
  if (mime === "text/csv" || mime === "text/tab-separated-values") return is("csv", mime);
  if (
    /^text\/|[/+](?:json|xml|yaml)$|^application\/(?:jsonl|toml|sql|javascript|x-sh|x-ndjson)$/.test(
      mime,
    )
  )
    return is("text", mime);
  // The declared type does not match: the content is text.
  throw unsupported(mime);
}

function zipKind(
  bytes: Uint8Array,
  is: (kind: DocumentKindName, mime: string) => Recognised,
): Recognised {
  const names = new Set(entriesOf(bytes).map((entry) => entry.name));
  const found = CONTAINERS.find(([entry]) => names.has(entry))?.[1] ?? "application/zip";
  if (found === DOCX) return is("docx", DOCX);
  throw unsupported(found);
}

function isProtected(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(
    Buffer.from("EncryptedPackage", "utf16le"),
  );
}

function binaryMime(given: string, name: string): string {
  if (given !== "" && !given.startsWith("text/")) return given;
  return mimeOfName(name) ?? "application/octet-stream";
}
