// Public and private keys out of DER.
import { Asn1Error, Der, TAG } from "./asn1.ts";

export type PublicKey =
  | { readonly kind: "rsa"; readonly n: bigint; readonly e: bigint }
  | { readonly kind: "ec"; readonly curve: string; readonly x: bigint; readonly y: bigint }
  | { readonly kind: "ed25519"; readonly bytes: Uint8Array }
  | { readonly kind: "unknown" };

export type PrivateKey =
  | {
      readonly kind: "rsa";
      readonly n: bigint;
      readonly e: bigint;
      readonly d: bigint;
      readonly p: bigint;
      readonly q: bigint;
      readonly dp: bigint;
      readonly dq: bigint;
      readonly qi: bigint;
    }
  | {
      readonly kind: "ec";
      readonly curve: string;
      readonly d: bigint;
      readonly point: Uint8Array | undefined;
    }
  | { readonly kind: "ed25519"; readonly seed: Uint8Array };

const RSA = "1.2.840.113549.1.1.1";
const EC = "1.2.840.10045.2.1";
const ED25519 = "1.3.101.112";

/** Curve names and the size of a coordinate in bytes. */
export const CURVES: Readonly<Record<string, { readonly name: string; readonly size: number }>> = {
  "1.3.132.0.33": { name: "P-224", size: 28 },
  "1.2.840.10045.3.1.7": { name: "P-256", size: 32 },
  "1.3.132.0.34": { name: "P-384", size: 48 },
  "1.3.132.0.35": { name: "P-521", size: 66 },
};

export const toBigInt = (bytes: Uint8Array): bigint =>
  bytes.reduce((n, byte) => (n << 8n) | BigInt(byte), 0n);

export function splitPoint(point: Uint8Array): { x: bigint; y: bigint } {
  if (point[0] !== 4) throw new Asn1Error("compressed point");
  const half = (point.length - 1) / 2;
  return { x: toBigInt(point.subarray(1, 1 + half)), y: toBigInt(point.subarray(1 + half)) };
}

/** A SubjectPublicKeyInfo. */
export function parsePublicKey(spki: Der): PublicKey {
  const [algorithm, key] = spki.sequence();
  const [oid, parameters] = algorithm?.sequence() ?? [];
  if (oid === undefined || key === undefined) throw new Asn1Error("invalid public key");
  const bits = key.bits();
  switch (oid.oid()) {
    case RSA: {
      const [n, e] = Der.only(bits).sequence();
      if (n === undefined || e === undefined) throw new Asn1Error("invalid RSA key");
      return { kind: "rsa", n: n.integer(), e: e.integer() };
    }
    case EC:
      return { kind: "ec", curve: parameters?.oid() ?? "", ...splitPoint(bits) };
    case ED25519:
      return { kind: "ed25519", bytes: bits };
    default:
      return { kind: "unknown" };
  }
}

export function parsePkcs1(bytes: Uint8Array): PrivateKey {
  const numbers = Der.only(bytes)
    .sequence()
    .slice(0, 9)
    .map((part) => part.integer());
  const [, n, e, d, p, q, dp, dq, qi] = numbers;
  if (n === undefined || e === undefined || d === undefined || p === undefined || q === undefined) {
    throw new Asn1Error("invalid RSA private key");
  }
  return { kind: "rsa", n, e, d, p, q, dp: dp ?? 0n, dq: dq ?? 0n, qi: qi ?? 0n };
}

export function parseSec1(bytes: Uint8Array, curve = ""): PrivateKey {
  const parts = Der.only(bytes).sequence();
  const named = parts.find((part) => part.tag === 0xa0);
  const point = parts.find((part) => part.tag === 0xa1);
  const d = parts[1]?.expect(TAG.octetString).body;
  if (d === undefined) throw new Asn1Error("invalid EC private key");
  return {
    kind: "ec",
    curve: named === undefined ? curve : Der.only(named.body).oid(),
    d: toBigInt(d),
    point: point === undefined ? undefined : Der.only(point.body).bits(),
  };
}

export function parsePkcs8(bytes: Uint8Array): PrivateKey {
  const [, algorithm, key] = Der.only(bytes).sequence();
  const [oid, parameters] = algorithm?.sequence() ?? [];
  if (oid === undefined || key === undefined) throw new Asn1Error("invalid private key");
  const inner = key.expect(TAG.octetString).body;
  switch (oid.oid()) {
    case RSA:
      return parsePkcs1(inner);
    case EC:
      return parseSec1(inner, parameters?.oid() ?? "");
    case ED25519:
      return { kind: "ed25519", seed: Der.only(inner).expect(TAG.octetString).body };
    default:
      throw new Asn1Error(`unknown algorithm ${oid.oid()}`);
  }
}
