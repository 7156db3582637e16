// Faults that a reader inside the sandbox reports; outside they become errors of the server.

export type DocumentReason =
  "unsupported_type" | "encrypted" | "archive_too_large" | "document_unreadable" | "pages_invalid";

export class UnreadableDocument extends Error {
  readonly reason: DocumentReason;
  readonly remedy: string;

  constructor(reason: DocumentReason, message: string, remedy: string) {
    super(message);
    this.name = "UnreadableDocument";
    this.reason = reason;
    this.remedy = remedy;
  }
}

export const unsupported = (
  mime: string,
  remedy = "text, Markdown, HTML, PDF, Word (docx) and CSV can be read",
) =>
  new UnreadableDocument(
    "unsupported_type",
    `documents of type ${mime.slice(0, 100)} cannot be read`,
    remedy,
  );

export const encrypted = () =>
  new UnreadableDocument(
    "encrypted",
    "the document is protected by a password",
    "provide it without one",
  );

export const unreadable = (what: string) =>
  new UnreadableDocument(
    "document_unreadable",
    `the document is not a readable ${what}`,
    "check that the file is complete and is what its name says",
  );

export const archiveTooLarge = (what: string) =>
  new UnreadableDocument(
    "archive_too_large",
    `unpacked, the document has ${what}`,
    "provide a smaller document",
  );
