// Keys for tokens: certificates, public keys in PEM, JSON web keys and sets of them.
import { toJson } from "../../values/json.ts";
import { RegoObject, isArray, typeName } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import { JsonError, parseJson } from "../../go/json.ts";
import { decodePem } from "../../go/pem.ts";
import { X509Error, parseCertificates } from "../../go/x509.ts";
import { BuiltinError } from "../builtin.ts";
import type { CryptoKeyInput } from "../builtin.ts";
import { base64UrlBytes } from "../encoding.ts";
import { fail } from "../operands.ts";

export type KeyKind = "RSA" | "EC" | "OKP" | "oct" | "pem";

export interface TokenKey {
  readonly alg: string;
  readonly kid: string;
  readonly kind: KeyKind;
  readonly jwk?: Readonly<Record<string, unknown>>;
  /** SPKI bytes. */
  readonly der?: Uint8Array;
  readonly secret?: Uint8Array;
}

export const ALGORITHMS = new Set([
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "HS256",
  "HS384",
  "HS512",
  "EdDSA",
]);

const SOLE = "jwk.Parse: failed to parse sole key: jwk.ParseKey";
const PROBE = `${SOLE}: jwk.Parse: failed to probe data: probe: failed to unmarshal data`;

const KINDS: Readonly<Record<string, KeyKind>> = { RSA: "RSA", EC: "EC", OKP: "OKP", oct: "oct" };

/** Members without which a key of a kind is none. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  RSA: ["n", "e"],
  EC: ["crv", "x", "y"],
  OKP: ["crv", "x"],
  oct: ["k"],
};

const text = (object: RegoObject, name: string): string => {
  const value = object.get(name);
  return typeof value === "string" ? value : "";
};

function readJwk(value: Value): TokenKey {
  if (!(value instanceof RegoObject))
    return fail(`${PROBE}: json: cannot unmarshal ${typeName(value)} into Go value`);
  const kty = text(value, "kty");
  const kind = KINDS[kty];
  if (kind === undefined) return fail(`${SOLE}: invalid key type from JSON (${kty})`);
  const missing = REQUIRED[kty]?.find((name) => text(value, name) === "");
  if (missing !== undefined) return fail(`${SOLE}: required field ${missing} is missing`);
  return {
    alg: text(value, "alg"),
    kid: text(value, "kid"),
    kind,
    jwk: toJson(value) as Record<string, unknown>,
    ...(kind === "oct" ? { secret: base64UrlBytes(text(value, "k")) } : {}),
  };
}

/** One JSON web key or a set of them. */
export function parseJwks(source: string): TokenKey[] {
  let parsed: Value;
  try {
    parsed = parseJson(source);
  } catch (error) {
    if (error instanceof JsonError) return fail(`${PROBE}: ${error.message}`);
    throw error;
  }
  const keys = parsed instanceof RegoObject ? parsed.get("keys") : undefined;
  return keys !== undefined && isArray(keys) ? keys.map(readJwk) : [readJwk(parsed)];
}

function jwksOf(source: string): TokenKey[] {
  try {
    return parseJwks(source);
  } catch (error) {
    if (!(error instanceof BuiltinError)) throw error;
    const where = "failed to parse a JWK key (set): jwk.ParseString: failed to parse string";
    return fail(`${where}: ${error.message}`);
  }
}

/** Keys to verify with: a PEM certificate, a PEM public key or JSON web keys. */
export function verificationKeys(source: string): TokenKey[] {
  const pem = decodePem(source);
  if (pem === undefined) {
    return jwksOf(source).filter((key) => key.alg === "" || ALGORITHMS.has(key.alg));
  }
  if (pem.rest.length > 0) return fail("extra data after a PEM certificate block");
  const { type, bytes } = pem.block;
  if (type === "PUBLIC KEY") return [{ alg: "", kid: "", kind: "pem", der: bytes }];
  if (type !== "CERTIFICATE") return fail("failed to extract a Key from the PEM certificate");
  try {
    const cert = parseCertificates(bytes)[0];
    if (cert === undefined)
      return fail("failed to parse a PEM certificate: x509: malformed certificate");
    return [{ alg: "", kid: "", kind: "pem", der: cert.spki }];
  } catch (error) {
    if (error instanceof X509Error)
      return fail(`failed to parse a PEM certificate: ${error.message}`);
    throw error;
  }
}

type Extra = Pick<CryptoKeyInput, "padding" | "dsaEncoding">;

export function keyInput(
  key: TokenKey,
  visibility: "public" | "private",
  extra: Extra,
): CryptoKeyInput {
  if (key.der !== undefined) {
    return { key: key.der, format: "der", type: "spki", visibility, ...extra };
  }
  return { key: key.jwk ?? {}, format: "jwk", visibility, ...extra };
}
