/** Foreign files as text, read inside the sandbox. */
export interface DocumentsPower {
  read(document: {
    readonly bytes: Uint8Array;
    /** Its extension decides the format where the bytes do not. */
    readonly name: string;
    readonly format: "markdown" | "text";
    readonly pages?: string;
    readonly ocr: boolean;
  }): Promise<DocumentText>;
}

export interface DocumentText {
  readonly text: string;
  readonly mime: string;
  readonly title: string | null;
  readonly language: string | null;
  readonly pages?: number;
  readonly sheets?: readonly string[];
  /** The text went on beyond what is ever given. */
  readonly truncated?: true;
}
