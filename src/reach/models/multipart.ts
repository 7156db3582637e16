// multipart/form-data (RFC 7578), as much as one upload needs.
import { randomBytes } from "node:crypto";

export interface FormPart {
  readonly name: string;
  readonly value: string | Uint8Array;
  /** Its name as a file; what would end the header is taken out. */
  readonly file?: string;
}

export function multipart(parts: readonly FormPart[]): { body: Uint8Array; type: string } {
  const boundary = `ostiary-${randomBytes(18).toString("hex")}`;
  const chunks = parts.flatMap(({ name, value, file }) => {
    const named =
      file === undefined
        ? ""
        : `; filename="${file.replaceAll(/["\\\p{Cc}]/gu, "_")}"\r\ncontent-type: application/octet-stream`;
    return [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${named}\r\n\r\n`,
      ),
      Buffer.from(value),
      Buffer.from("\r\n"),
    ];
  });
  const body = Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
  return { body, type: `multipart/form-data; boundary=${boundary}` };
}
