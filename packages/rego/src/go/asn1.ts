// A reader for DER: just enough for certificates, requests and keys.
import { decodeUtf8 } from "./utf8.ts";

export class Asn1Error extends Error {
  constructor(message: string) {
    super(`asn1: structure error: ${message}`);
    this.name = "Asn1Error";
  }
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export class Der {
  readonly tag: number;
  /** Tag, length and content. */
  readonly raw: Uint8Array;
  readonly body: Uint8Array;

  constructor(tag: number, raw: Uint8Array, body: Uint8Array) {
    this.tag = tag;
    this.raw = raw;
    this.body = body;
  }

  /** The only element of some bytes. */
  static only(bytes: Uint8Array): Der {
    const [first, ...rest] = Der.all(bytes);
    if (first === undefined || rest.length > 0) throw new Asn1Error("trailing data");
    return first;
  }

  static all(bytes: Uint8Array): Der[] {
    const out: Der[] = [];
    for (let at = 0; at < bytes.length;) {
      const element = Der.read(bytes, at);
      out.push(element);
      at += element.raw.length;
    }
    return out;
  }

  private static read(bytes: Uint8Array, at: number): Der {
    const tag = bytes[at] ?? 0;
    if ((tag & 0x1f) === 0x1f) throw new Asn1Error("long tag");
    let length = bytes[at + 1];
    let start = at + 2;
    if (length === undefined) throw new Asn1Error("length too large");
    if (length >= 0x80) {
      const count = length & 0x7f;
      if (count === 0 || count > 4) throw new Asn1Error("length too large");
      length = 0;
      for (let i = 0; i < count; i++) length = length * 256 + (bytes[start + i] ?? 0);
      start += count;
    }
    if (start + length > bytes.length) throw new Asn1Error("length too large");
    return new Der(tag, bytes.subarray(at, start + length), bytes.subarray(start, start + length));
  }

  expect(tag: number): this {
    if (this.tag !== tag) throw new Asn1Error(`tags don't match (${tag} vs ${this.tag})`);
    return this;
  }

  children(): Der[] {
    return Der.all(this.body);
  }

  sequence(): Der[] {
    return this.expect(TAG.sequence).children();
  }

  integer(): bigint {
    this.expect(TAG.integer);
    let n = 0n;
    for (const byte of this.body) n = (n << 8n) | BigInt(byte);
    return (this.body[0] ?? 0) >= 0x80 ? n - (1n << BigInt(this.body.length * 8)) : n;
  }

  oid(): string {
    this.expect(TAG.oid);
    return decodeOid(this.body);
  }

  /** A bit string of whole bytes. */
  bits(): Uint8Array {
    return this.expect(TAG.bitString).body.subarray(1);
  }

  boolean(): boolean {
    return this.expect(TAG.boolean).body[0] !== 0;
  }

  text(): string {
    // BMPString: two bytes per character.
    if (this.tag === 0x1e) {
      const units: number[] = [];
      for (let i = 0; i + 1 < this.body.length; i += 2) {
        units.push(((this.body[i] ?? 0) << 8) | (this.body[i + 1] ?? 0));
      }
      return String.fromCharCode(...units);
    }
    return decodeUtf8(this.body);
  }

  /** RFC 3339, as Go prints a time. */
  time(): string {
    const text = decodeUtf8(this.body);
    const m = /^(\d{2}|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text);
    const [, y = "", month = "", day = "", hour = "", minute = "", second = ""] = m ?? [];
    if (m === null) throw new Asn1Error("invalid time");
    const year = y.length === 4 ? y : Number(y) >= 50 ? `19${y}` : `20${y}`;
    return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  }
}

export function decodeOid(body: Uint8Array): string {
  const parts: bigint[] = [];
  let value = 0n;
  for (const byte of body) {
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) {
      parts.push(value);
      value = 0n;
    }
  }
  const first = parts[0] ?? 0n;
  const root = first < 40n ? 0n : first < 80n ? 1n : 2n;
  return [root, first - root * 40n, ...parts.slice(1)].join(".");
}
