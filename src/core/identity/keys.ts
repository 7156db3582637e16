// API keys: 256 random bits and a checksum. The store keeps a short prefix and a salted, keyed hash; the key is shown
// once.
import { createHmac, hash as digest, randomBytes, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY = /^ost_[a-z0-9]{1,16}_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
/** Enough of a key to recognise it, far too little to guess it. */
const SHOWN_SECRET_CHARS = 6;

export interface MintedKey {
  readonly secret: string;
  readonly prefix: string;
  readonly salt: string;
  readonly hash: string;
}

export function mintKey(serverSecret: string): MintedKey {
  const body = `ost_local_${base62(randomBytes(32), 43)}`;
  return sealKey(body + checksum(body), serverSecret);
}

/** What the store keeps of a key that exists already, such as a preset administrator key. */
export function sealKey(secret: string, serverSecret: string): MintedKey {
  const salt = randomBytes(16).toString("hex");
  return { secret, prefix: prefixOf(secret), salt, hash: hashOf(secret, salt, serverSecret) };
}

/** A key with a wrong checksum is refused without reading the store; preset keys have no checksum. */
export function isWellFormed(secret: string): boolean {
  if (secret.length < 32 || secret.length > 512) return false;
  if (!secret.startsWith("ost_")) return true;
  const match = KEY.exec(secret);
  return match !== null && checksum(secret.slice(0, -6)) === match[2];
}

export function prefixOf(secret: string): string {
  const match = KEY.exec(secret);
  if (match?.[1] === undefined) return `preset_${digest("sha256", secret).slice(0, 12)}`;
  return secret.slice(0, secret.length - 49 + SHOWN_SECRET_CHARS);
}

export function matches(
  secret: string,
  row: { salt: string; hash: string },
  serverSecret: string,
): boolean {
  const expected = Buffer.from(row.hash, "hex");
  const got = Buffer.from(hashOf(secret, row.salt, serverSecret), "hex");
  return expected.length === got.length && timingSafeEqual(expected, got);
}

function hashOf(secret: string, salt: string, serverSecret: string): string {
  return createHmac("sha256", serverSecret).update(salt).update(":").update(secret).digest("hex");
}

function checksum(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return base62(bytes, 6);
}

function base62(bytes: Uint8Array, length: number): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  for (let i = 0; i < length; i++) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
