// Certificates and certificate requests, with the fields Go's crypto/x509 gives them.
import { Asn1Error, Der, TAG } from "./asn1.ts";
import { parsePublicKey } from "./keys.ts";
import type { PublicKey } from "./keys.ts";

export class X509Error extends Error {
  constructor(message: string) {
    super(message);
    this.name = "X509Error";
  }
}

export interface Name {
  readonly raw: Uint8Array;
  readonly attributes: readonly { readonly oid: string; readonly value: string }[];
}

export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  readonly value: Uint8Array;
}

export interface SubjectNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  readonly ips: readonly Uint8Array[];
  readonly uris: readonly string[];
}

interface Signed {
  readonly raw: Uint8Array;
  readonly tbs: Uint8Array;
  readonly spki: Uint8Array;
  readonly publicKey: PublicKey;
  readonly subject: Name;
  readonly version: number;
  readonly signature: Uint8Array;
  readonly signatureAlgorithm: SignatureAlgorithm;
  readonly extensions: readonly Extension[];
}

export interface Certificate extends Signed {
  readonly issuer: Name;
  readonly serial: bigint;
  readonly notBefore: string;
  readonly notAfter: string;
}

export type CertificateRequest = Signed & { readonly attributes: readonly Der[] };

/** Go's number of a signature algorithm, and how to check it. */
export interface SignatureAlgorithm {
  readonly id: number;
  readonly hash?: "sha1" | "sha256" | "sha384" | "sha512";
  readonly pss?: true;
}

const SIGNATURES: Readonly<Record<string, SignatureAlgorithm>> = {
  "1.2.840.113549.1.1.2": { id: 1 },
  "1.2.840.113549.1.1.4": { id: 2 },
  "1.2.840.113549.1.1.5": { id: 3, hash: "sha1" },
  "1.2.840.113549.1.1.11": { id: 4, hash: "sha256" },
  "1.2.840.113549.1.1.12": { id: 5, hash: "sha384" },
  "1.2.840.113549.1.1.13": { id: 6, hash: "sha512" },
  "1.2.840.10040.4.3": { id: 7 },
  "2.16.840.1.101.3.4.3.2": { id: 8 },
  "1.2.840.10045.4.1": { id: 9, hash: "sha1" },
  "1.2.840.10045.4.3.2": { id: 10, hash: "sha256" },
  "1.2.840.10045.4.3.3": { id: 11, hash: "sha384" },
  "1.2.840.10045.4.3.4": { id: 12, hash: "sha512" },
  "1.3.101.112": { id: 16 },
};

const PSS_OID = "1.2.840.113549.1.1.10";
const PSS_BY_HASH: Readonly<Record<string, SignatureAlgorithm>> = {
  "2.16.840.1.101.3.4.2.1": { id: 13, hash: "sha256", pss: true },
  "2.16.840.1.101.3.4.2.2": { id: 14, hash: "sha384", pss: true },
  "2.16.840.1.101.3.4.2.3": { id: 15, hash: "sha512", pss: true },
};

function signatureAlgorithm(algorithm: Der): SignatureAlgorithm {
  const [oid, parameters] = algorithm.sequence();
  const name = oid?.oid() ?? "";
  if (name !== PSS_OID) return SIGNATURES[name] ?? { id: 0 };
  const hash = parameters?.children().find((child) => child.tag === 0xa0);
  const hashOid = hash === undefined ? "" : (Der.only(hash.body).sequence()[0]?.oid() ?? "");
  return PSS_BY_HASH[hashOid] ?? { id: 0 };
}

function parseName(der: Der): Name {
  const attributes = der.sequence().flatMap((set) =>
    set
      .expect(TAG.set)
      .children()
      .map((pair) => {
        const [oid, value] = pair.sequence();
        if (oid === undefined || value === undefined) throw new Asn1Error("invalid name");
        return { oid: oid.oid(), value: value.text() };
      }),
  );
  return { raw: der.raw, attributes };
}

function parseExtensions(der: Der): Extension[] {
  return der.sequence().map((item) => {
    const parts = item.sequence();
    const oid = parts[0]?.oid() ?? "";
    const critical = parts.length > 2 && parts[1]?.boolean() === true;
    const value = parts.at(-1)?.expect(TAG.octetString).body ?? new Uint8Array();
    return { oid, critical, value };
  });
}

/** The i-th element, or a structure error. */
function at(list: readonly Der[], i: number): Der {
  const found = list[i];
  if (found === undefined) throw new Asn1Error("sequence truncated");
  return found;
}

function parseCertificate(der: Der): Certificate {
  const outer = der.sequence();
  const tbs = at(outer, 0);
  const fields = tbs.sequence();
  const hasVersion = fields[0]?.tag === 0xa0;
  const offset = hasVersion ? 1 : 0;
  const version = hasVersion ? Number(Der.only(at(fields, 0).body).integer()) + 1 : 1;
  const [notBefore, notAfter] = at(fields, offset + 3).sequence();
  const spki = at(fields, offset + 5);
  const extensions = fields.find((field) => field.tag === 0xa3);
  return {
    raw: der.raw,
    tbs: tbs.raw,
    version,
    serial: at(fields, offset).integer(),
    issuer: parseName(at(fields, offset + 2)),
    notBefore: notBefore?.time() ?? "",
    notAfter: notAfter?.time() ?? "",
    subject: parseName(at(fields, offset + 4)),
    spki: spki.raw,
    publicKey: parsePublicKey(spki),
    extensions: extensions === undefined ? [] : parseExtensions(Der.only(extensions.body)),
    signatureAlgorithm: signatureAlgorithm(at(outer, 1)),
    signature: at(outer, 2).bits(),
  };
}

/** Certificates one after the other. */
export function parseCertificates(bytes: Uint8Array): Certificate[] {
  try {
    return Der.all(bytes).map(parseCertificate);
  } catch (error) {
    if (error instanceof Asn1Error) throw new X509Error("x509: malformed certificate");
    throw error;
  }
}

const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";

export function parseCertificateRequest(bytes: Uint8Array): CertificateRequest {
  const whole = Der.only(bytes);
  const outer = whole.sequence();
  const info = at(outer, 0);
  const fields = info.sequence();
  const spki = at(fields, 2);
  const attributes = fields.find((field) => field.tag === 0xa0)?.children() ?? [];
  const request = attributes.find(
    (attribute) => attribute.sequence()[0]?.oid() === EXTENSION_REQUEST,
  );
  const wanted = request?.sequence()[1]?.children()[0];
  return {
    raw: whole.raw,
    tbs: info.raw,
    spki: spki.raw,
    version: Number(at(fields, 0).integer()),
    subject: parseName(at(fields, 1)),
    publicKey: parsePublicKey(spki),
    attributes,
    extensions: wanted === undefined ? [] : parseExtensions(wanted),
    signatureAlgorithm: signatureAlgorithm(at(outer, 1)),
    signature: at(outer, 2).bits(),
  };
}

export function extensionValue(from: Signed, oid: string): Der | undefined {
  const found = from.extensions.find((extension) => extension.oid === oid);
  return found === undefined ? undefined : Der.only(found.value);
}

/** Subject alternative names. */
export function subjectNames(from: Signed): SubjectNames {
  const names = extensionValue(from, "2.5.29.17")?.sequence() ?? [];
  const texts = (tag: number): string[] =>
    names.filter((name) => name.tag === tag).map((name) => name.text());
  return {
    emails: texts(0x81),
    dns: texts(0x82),
    uris: texts(0x86),
    ips: names.filter((name) => name.tag === 0x87).map((name) => name.body),
  };
}
