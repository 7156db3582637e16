// The key that signs checkpoints and exports: Ed25519, made at the first start, kept beside the database and not in it.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from "node:crypto";
import { AppError } from "../../contract/errors.ts";

const KEY_FILE = "ledger.key";

export interface LedgerKey {
  /** First half of the fingerprint: short enough to be compared by eye. */
  readonly keyId: string;
  /** SPKI, DER, base64: as it stands in the lines it signs. */
  readonly publicKey: string;
  sign(text: string): string;
}

export interface DataDirSecrets {
  readSecret(name: string): string | null;
  writeSecret(name: string, value: string): void;
}

export function openKey({ readSecret, writeSecret }: DataDirSecrets): LedgerKey {
  const kept = readSecret(KEY_FILE);
  if (kept !== null) return keyOf(privateKeyOf(kept));
  const { privateKey } = generateKeyPairSync("ed25519");
  writeSecret(KEY_FILE, privateKey.export({ type: "pkcs8", format: "pem" }).toString().trim());
  return keyOf(privateKey);
}

function privateKeyOf(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
    throw new Error(`it is of kind ${String(key.asymmetricKeyType)}`);
  } catch (cause) {
    throw new AppError(
      "UNAVAILABLE",
      "resource_exhausted",
      `the signing key ${KEY_FILE} cannot be used: expected an Ed25519 key in PKCS#8 PEM; ${(cause as Error).message}`,
      {
        remedy:
          "put the right file back, or move it away: then a new key is made, and what it signs carries another key id",
        cause,
      },
    );
  }
}

function keyOf(privateKey: KeyObject): LedgerKey {
  const publicKey = spkiOf(createPublicKey(privateKey));
  return {
    keyId: keyIdOf(publicKey),
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64"),
  };
}

const spkiOf = (key: KeyObject): string =>
  key.export({ type: "spki", format: "der" }).toString("base64");

export const keyIdOf = (publicKey: string): string =>
  createHash("sha256").update(Buffer.from(publicKey, "base64")).digest("hex").slice(0, 16);

/** PEM, as `openssl` and `--key` read it. */
export const pemOf = (publicKey: string): string =>
  `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----\n`;

/** A public key from PEM; from a private key's PEM its public half. Null when it is neither. */
export function publicKeyOf(pem: string): string | null {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? spkiOf(key) : null;
  } catch {
    return null;
  }
}

/** Base64 has several spellings of the same bytes; only the canonical one is accepted. */
export function isSigned(text: string | Uint8Array, publicKey: string, signature: string): boolean {
  try {
    const bytes = Buffer.from(signature, "base64");
    if (bytes.toString("base64") !== signature) return false;
    const key = createPublicKey({
      key: Buffer.from(publicKey, "base64"),
      type: "spki",
      format: "der",
    });
    if (key.asymmetricKeyType !== "ed25519" || spkiOf(key) !== publicKey) return false;
    return verify(null, typeof text === "string" ? Buffer.from(text) : text, key, bytes);
  } catch {
    return false; // what cannot be read as a key signed nothing
  }
}
