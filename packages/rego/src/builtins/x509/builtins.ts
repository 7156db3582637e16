import { numberText } from "../../values/number.ts";
import { RegoSet, isArray, isNumber } from "../../values/value.ts";
import type { Value, RegoObject } from "../../values/value.ts";
import { ANY, BOOLEAN, STRING, arrayOf, objectOf, tupleOf } from "../../types/type.ts";
import { Asn1Error, Der } from "../../go/asn1.ts";
import { encodeBase64 } from "../../go/base64.ts";
import { CURVES, parsePkcs1, parsePkcs8, parseSec1 } from "../../go/keys.ts";
import type { PrivateKey } from "../../go/keys.ts";
import { allPem, decodePem } from "../../go/pem.ts";
import type { PemBlock } from "../../go/pem.ts";
import { decodeUtf8, encodeUtf8 } from "../../go/utf8.ts";
import { X509Error, parseCertificateRequest, parseCertificates } from "../../go/x509.ts";
import type { Certificate } from "../../go/x509.ts";
import { BuiltinError } from "../builtin.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { cryptoOf } from "../crypto.ts";
import { base64Bytes } from "../encoding.ts";
import { arg, asInt64, fail, fn, object, string, wrongType } from "../operands.ts";
import type { Args } from "../operands.ts";
import { verifyChain } from "./chain.ts";
import type { ChainOptions } from "./chain.ts";
import { certificateValue, privateKeyValue, record, requestValue } from "./values.ts";

export function guardX509<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof Asn1Error || error instanceof X509Error) return fail(error.message);
    throw error;
  }
}

const join = (parts: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => Array.from(part)));

function fromPem(text: string): Certificate[] {
  const blocks = allPem(text);
  const other = blocks.find((block) => block.type !== "CERTIFICATE");
  if (other !== undefined) fail(`PEM block type is '${other.type}', expected CERTIFICATE`);
  return guardX509(() => parseCertificates(join(blocks.map((block) => block.bytes))));
}

/** PEM, base64 of PEM or base64 of DER. */
function certificates(text: string): Certificate[] {
  if (text.startsWith("-----BEGIN")) return fromPem(text);
  const bytes = base64Bytes(text);
  const inner = decodeUtf8(bytes);
  return inner.startsWith("-----BEGIN")
    ? fromPem(inner)
    : guardX509(() => parseCertificates(bytes));
}

const USAGES = [
  "Any",
  "ServerAuth",
  "ClientAuth",
  "CodeSigning",
  "EmailProtection",
  "IPSECEndSystem",
  "IPSECTunnel",
  "IPSECUser",
  "TimeStamping",
  "OCSPSigning",
  "MicrosoftServerGatedCrypto",
  "NetscapeServerGatedCrypto",
  "MicrosoftCommercialCodeSigning",
  "MicrosoftKernelCodeSigning",
];

function keyUsages(value: Value): number[] {
  const items = isArray(value) ? value : value instanceof RegoSet ? value.items() : undefined;
  if (items === undefined) return fail("'KeyUsages' should be an Array or Set");
  const names = items
    .filter((item) => typeof item === "string")
    .map((item) => item.replace(/^"+|"+$/g, ""));
  const indexOf = (name: string): number =>
    USAGES.findIndex((usage) => `KeyUsage${usage}` === name);
  const unknown = names.filter((name) => indexOf(name) < 0);
  if (unknown.length > 0) fail(`invalid entries for 'KeyUsages' found: [${unknown.join(" ")}]`);
  return names.map(indexOf);
}

type Wanted = Omit<ChainOptions, "crypto">;

function readOptions(options: RegoObject, nowMs: number): Wanted {
  let wanted: Wanted = { nowMs, usages: [] };
  for (const [key, value] of options.entries()) {
    switch (key) {
      case "DNSName":
        if (typeof value !== "string") return fail("'DNSName' should be a string");
        wanted = { ...wanted, dnsName: value.replace(/^"+|"+$/g, "") };
        break;
      case "CurrentTime": {
        if (!isNumber(value)) return fail("'CurrentTime' should be a number");
        const ns = asInt64(value) ?? fail("'CurrentTime' should be a valid int64 number");
        wanted = { ...wanted, nowMs: Number(ns / 1_000_000n) };
        break;
      }
      case "MaxConstraintComparisons":
        if (!isNumber(value)) return fail("'MaxConstraintComparisons' should be a number");
        if (!/^-?\d+$/.test(numberText(value)))
          return fail("'MaxConstraintComparisons' should be a valid number");
        break;
      case "KeyUsages":
        wanted = { ...wanted, usages: keyUsages(value) };
        break;
      default:
        if (typeof key === "string") return fail("invalid key option");
    }
  }
  return wanted;
}

function verified(text: string, ctx: BuiltinContext, options: RegoObject | undefined): Value {
  const failed: Value = [false, []];
  let certs: Certificate[];
  try {
    certs = certificates(text);
  } catch (error) {
    if (error instanceof BuiltinError) return failed;
    throw error;
  }
  const nowMs = Number(ctx.nowNs() / 1_000_000n);
  const wanted = options === undefined ? { nowMs, usages: [] } : readOptions(options, nowMs);
  const crypto = cryptoOf(ctx);
  ctx.tick(100 * certs.length);
  const chain = guardX509(() => verifyChain(certs, { ...wanted, crypto }));
  if (chain === undefined) return failed;
  return [true, chain.map((cert) => certificateValue(cert, options === undefined))];
}

function parseRequest(args: Args): Value {
  const text = string(args, 1);
  const isPem = text.startsWith("-----BEGIN CERTIFICATE REQUEST-----");
  const bytes = isPem ? encodeUtf8(text) : base64Bytes(text);
  const pem = decodePem(decodeUtf8(bytes))?.block;
  if (pem !== undefined && pem.type !== "CERTIFICATE REQUEST") {
    return fail("invalid PEM-encoded certificate signing request");
  }
  return guardX509(() => requestValue(parseCertificateRequest(pem?.bytes ?? bytes)));
}

interface Loaded {
  readonly key: PrivateKey;
  readonly block: PemBlock;
}

function loadKey(block: PemBlock): Loaded[] {
  switch (block.type) {
    case "RSA PRIVATE KEY":
      return [{ key: parsePkcs1(block.bytes), block }];
    case "PRIVATE KEY":
      return [{ key: parsePkcs8(block.bytes), block }];
    case "EC PRIVATE KEY":
      return [{ key: parseSec1(block.bytes), block }];
    default:
      return [];
  }
}

function privateKeys(text: string): Loaded[] {
  let pem = text;
  try {
    pem = decodeUtf8(base64Bytes(text));
  } catch (error) {
    if (!(error instanceof BuiltinError)) throw error;
  }
  return guardX509(() => allPem(pem).flatMap(loadKey));
}

/** The public half: the point of an EC key, the bytes of an Ed25519 key, nothing for RSA. */
function publicPart({ key, block }: Loaded, ctx: BuiltinContext): Uint8Array {
  if (key.kind === "rsa") return new Uint8Array();
  if (key.kind === "ec" && key.point !== undefined) return key.point;
  const spki = Der.only(cryptoOf(ctx).publicKeyOf(block.bytes));
  return spki.sequence()[1]?.bits() ?? new Uint8Array();
}

const base64Url = (bytes: Uint8Array): string => encodeBase64(bytes, "url", false);

function bytesOf(n: bigint, size?: number): Uint8Array {
  const hex = n.toString(16);
  const even = hex.padStart(size === undefined ? hex.length + (hex.length % 2) : size * 2, "0");
  return Uint8Array.from(even.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function toJwk(loaded: Loaded, ctx: BuiltinContext): Value {
  const { key } = loaded;
  if (key.kind === "rsa") {
    const { n, e, d, p, q, dp, dq, qi } = key;
    const fields = Object.entries({ n, e, d, p, q, dp, dq, qi });
    return record({
      kty: "RSA",
      ...Object.fromEntries(fields.map(([name, value]) => [name, base64Url(bytesOf(value))])),
    });
  }
  const point = publicPart(loaded, ctx);
  if (key.kind === "ed25519") {
    return record({ kty: "OKP", crv: "Ed25519", d: base64Url(key.seed), x: base64Url(point) });
  }
  const curve = CURVES[key.curve] ?? fail(`unknown elliptic curve ${key.curve}`);
  const half = (point.length - 1) / 2;
  return record({
    kty: "EC",
    crv: curve.name,
    d: base64Url(bytesOf(key.d, curve.size)),
    x: base64Url(point.subarray(1, 1 + half)),
    y: base64Url(point.subarray(1 + half)),
  });
}

function rsaPrivateKey(args: Args, ctx: BuiltinContext): Value {
  const text = string(args, 1);
  if (text === "") return fail("input PEM data was empty");
  const pem = text.startsWith("-----BEGIN") ? text : decodeUtf8(base64Bytes(text));
  const first = privateKeys(pem)[0];
  return first === undefined ? null : guardX509(() => toJwk(first, ctx));
}

function keyPair(args: Args, ctx: BuiltinContext): Value {
  const second = arg(args, 2);
  // OPA counts the key as the first operand too.
  if (typeof second !== "string") return wrongType(1, second, "string");
  const [certText, keyText] = [string(args, 1), string(args, 2)].map((text) =>
    text.startsWith("-----BEGIN ") ? text : decodeUtf8(base64Bytes(text)),
  );
  const certs = certificates(certText?.startsWith("-----BEGIN ") ? certText : string(args, 1));
  const pems = keyText?.startsWith("-----BEGIN")
    ? allPem(keyText)
    : [{ type: "PRIVATE KEY", bytes: base64Bytes(string(args, 2)) }];
  const key = guardX509(() => pems.flatMap(loadKey))[0];
  const leaf = certs[0];
  if (leaf === undefined) return fail("tls: failed to find any PEM data in certificate input");
  if (key === undefined) return fail("tls: failed to find any PEM data in key input");
  const point = publicPart(key, ctx);
  if (!belongs(leaf, key.key, point)) return fail("tls: private key does not match public key");
  return record({
    Certificate: certs.map((cert) => encodeBase64(cert.raw, "standard")),
    PrivateKey: privateKeyValue(key.key, point),
    SupportedSignatureAlgorithms: null,
    OCSPStaple: null,
    SignedCertificateTimestamps: null,
    Leaf: certificateValue(leaf, false),
  });
}

function belongs(cert: Certificate, key: PrivateKey, point: Uint8Array): boolean {
  const own = cert.publicKey;
  if (own.kind !== key.kind) return false;
  if (own.kind === "rsa") return key.kind === "rsa" && own.n === key.n;
  const spki = Der.only(cert.spki).sequence()[1]?.bits() ?? new Uint8Array();
  return spki.length === point.length && spki.every((byte, i) => byte === point[i]);
}

const OBJECT = objectOf(STRING, ANY);
const CHAIN = tupleOf(BOOLEAN, arrayOf(OBJECT));
const NEEDS = { needs: "crypto" } as const;

export const X509: readonly Builtin[] = [
  fn("crypto.x509.parse_certificates", [STRING], arrayOf(OBJECT), (a) => {
    const text = string(a, 1);
    return guardX509(() => certificates(text).map((cert) => certificateValue(cert)));
  }),
  fn(
    "crypto.x509.parse_and_verify_certificates",
    [STRING],
    CHAIN,
    (a, ctx) => verified(string(a, 1), ctx, undefined),
    NEEDS,
  ),
  fn(
    "crypto.x509.parse_and_verify_certificates_with_options",
    [STRING, OBJECT],
    CHAIN,
    (a, ctx) => verified(string(a, 1), ctx, object(a, 2)),
    NEEDS,
  ),
  fn("crypto.x509.parse_certificate_request", [STRING], OBJECT, parseRequest),
  fn("crypto.x509.parse_keypair", [STRING, STRING], OBJECT, keyPair, NEEDS),
  fn("crypto.x509.parse_rsa_private_key", [STRING], OBJECT, rsaPrivateKey, NEEDS),
  fn(
    "crypto.parse_private_keys",
    [STRING],
    arrayOf(OBJECT),
    (a, ctx) => {
      const text = string(a, 1);
      if (text === "") return null;
      return privateKeys(text).map((loaded) =>
        guardX509(() => privateKeyValue(loaded.key, publicPart(loaded, ctx))),
      );
    },
    NEEDS,
  ),
];
