// The documents port: foreign files become text. Implementations parse inside the sandbox, never in this process.

export interface DocumentInput {
  readonly bytes: Uint8Array;
  /** As declared, e.g. by a server; a known signature in the bytes takes precedence. */
  readonly mime: string;
  /** The file's name; its extension decides where the type does not. */
  readonly name: string;
  /** Where it came from: relative links are resolved against it. */
  readonly url?: string;
  readonly format: "markdown" | "text" | "html";
  /** Of a page: the article without navigation and the like. */
  readonly mainContentOnly: boolean;
  /** Of a PDF: e.g. `1-3,7`. */
  readonly pages?: string;
  /** Reads text in images, where the program for it is installed. */
  readonly ocr?: boolean;
}

export interface ReadDocument {
  readonly text: string;
  readonly title: string | null;
  readonly byline: string | null;
  readonly published: string | null;
  readonly language: string | null;
  readonly description: string | null;
  readonly links: readonly DocumentLink[];
  /** The type that was detected. */
  readonly mime: string;
  /** How many pages the document has. */
  readonly pages?: number;
  /** Names of its tables, of a spreadsheet. */
  readonly sheets?: readonly string[];
  /** The text was longer than the largest answer. */
  readonly truncated?: true;
}

export interface DocumentLink {
  readonly text: string;
  readonly url: string;
}

export interface Documents {
  /**
   * Rejects with a typed error: `unsupported_type`, `encrypted`, `archive_too_large`, `invalid_arguments` (pages),
   * `sandbox_unavailable`, `document_unreadable` when the bytes are not what they claim to be.
   */
  read(input: DocumentInput, signal: AbortSignal): Promise<ReadDocument>;
}
