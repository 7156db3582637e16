// Texts that only this server can read again, each bound to the name of what it belongs to.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export interface Sealed {
  close(name: string, text: string): string;
  /** Throws when it was made for another name, by another server, or was touched. */
  open(name: string, sealed: string): string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A purpose has a key of its own: what was sealed for another does not open. */
export const sealingKey = (serverSecret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync("sha256", serverSecret, "", purpose, 32));

export function createSealed(key: Buffer): Sealed {
  return {
    close(name, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
      const bytes = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), bytes]).toString("base64url");
    },
    open(name, sealed) {
      const bytes = Buffer.from(sealed, "base64url");
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const cipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(name)).setAuthTag(tag);
      const text = cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([text, cipher.final()]).toString("utf8");
    },
  };
}
