// Certificates and keys as Rego values, field by field as Go's JSON of them.
import { numberFromBigInt } from "../../values/number.ts";
import { RegoObject } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import type { Der } from "../../go/asn1.ts";
import { encodeBase64 } from "../../go/base64.ts";
import { formatIp } from "../../go/ip.ts";
import { splitPoint } from "../../go/keys.ts";
import type { PrivateKey, PublicKey } from "../../go/keys.ts";
import { parseUrl } from "../../go/url.ts";
import { extensionValue, subjectNames } from "../../go/x509.ts";
import type { Certificate, CertificateRequest, Extension, Name } from "../../go/x509.ts";

type Fields = Readonly<Record<string, Value>>;
export const record = (fields: Fields): RegoObject => RegoObject.of(Object.entries(fields));

const base64 = (bytes: Uint8Array): string => encodeBase64(bytes, "standard");
/** Go prints an absent list as null. */
const listOrNull = (items: readonly Value[]): Value => (items.length === 0 ? null : items);
const oidParts = (oid: string): Value =>
  oid.split(".").map((part) => numberFromBigInt(BigInt(part)));

const NAME_FIELDS = {
  Country: "2.5.4.6",
  Organization: "2.5.4.10",
  OrganizationalUnit: "2.5.4.11",
  Locality: "2.5.4.7",
  Province: "2.5.4.8",
  StreetAddress: "2.5.4.9",
  PostalCode: "2.5.4.17",
} as const;

function nameValue(name: Name): Value {
  const all = (oid: string): string[] =>
    name.attributes.filter((attribute) => attribute.oid === oid).map(({ value }) => value);
  const lists = Object.entries(NAME_FIELDS).map(([field, oid]) => [field, listOrNull(all(oid))]);
  return record({
    ...(Object.fromEntries(lists) as Fields),
    CommonName: all("2.5.4.3").at(-1) ?? "",
    SerialNumber: all("2.5.4.5").at(-1) ?? "",
    Names: listOrNull(
      name.attributes.map(({ oid, value }) => record({ Type: oidParts(oid), Value: value })),
    ),
    ExtraNames: null,
  });
}

export function publicKeyValue(key: PublicKey): Value {
  switch (key.kind) {
    case "rsa":
      return record({ N: numberFromBigInt(key.n), E: numberFromBigInt(key.e) });
    case "ec":
      return record({
        Curve: RegoObject.EMPTY,
        X: numberFromBigInt(key.x),
        Y: numberFromBigInt(key.y),
      });
    case "ed25519":
      return base64(key.bytes);
    case "unknown":
      return null;
  }
}

const KEY_ALGORITHMS = { unknown: 0, rsa: 1, ec: 3, ed25519: 4 } as const;

/** `point` is the public point of an EC key or the public bytes of an Ed25519 key. */
export function privateKeyValue(key: PrivateKey, point: Uint8Array): Value {
  switch (key.kind) {
    case "rsa":
      return record({
        N: numberFromBigInt(key.n),
        E: numberFromBigInt(key.e),
        D: numberFromBigInt(key.d),
        Primes: [numberFromBigInt(key.p), numberFromBigInt(key.q)],
        Precomputed: record({
          Dp: numberFromBigInt(key.dp),
          Dq: numberFromBigInt(key.dq),
          Qinv: numberFromBigInt(key.qi),
          CRTValues: [],
        }),
      });
    case "ec": {
      const { x, y } = splitPoint(point);
      return record({
        Curve: RegoObject.EMPTY,
        X: numberFromBigInt(x),
        Y: numberFromBigInt(y),
        D: numberFromBigInt(key.d),
      });
    }
    case "ed25519":
      return base64(Uint8Array.from([...key.seed, ...point]));
  }
}

function extensionList(extensions: readonly Extension[]): Value {
  return listOrNull(
    extensions.map(({ oid, critical, value }) =>
      record({ Id: oidParts(oid), Critical: critical, Value: base64(value) }),
    ),
  );
}

function urlValue(text: string): Value {
  const url = parseUrl(text);
  const user = /^[^/]*\/\/[^/]*@/.test(text) ? RegoObject.EMPTY : null;
  const opaque = url.host === "" && url.path === "" && url.scheme !== "";
  return record({
    Scheme: url.scheme,
    Opaque: opaque ? text.slice(url.scheme.length + 1).replace(/[?#].*$/s, "") : "",
    User: user,
    Host: url.host,
    Path: url.path,
    RawPath: url.rawPath,
    OmitHost: false,
    ForceQuery: false,
    RawQuery: url.rawQuery,
    Fragment: url.fragment,
    RawFragment: "",
  });
}

type WithNames = Parameters<typeof subjectNames>[0];

function alternativeNames(from: WithNames): Fields {
  const names = subjectNames(from);
  return {
    DNSNames: listOrNull(names.dns),
    EmailAddresses: listOrNull(names.emails),
    IPAddresses: listOrNull(names.ips.map(formatIp)),
    URIs: listOrNull(names.uris.map(urlValue)),
  };
}

/** Bit 0 is the first bit of the string: Go's KeyUsage has it as the lowest one. */
export function keyUsage(cert: Certificate): number {
  const bits = extensionValue(cert, "2.5.29.15")?.bits() ?? new Uint8Array();
  let usage = 0;
  for (let i = 0; i < Math.min(bits.length * 8, 9); i++) {
    if (((bits[i >> 3] ?? 0) & (0x80 >> (i & 7))) !== 0) usage |= 1 << i;
  }
  return usage;
}

const EXT_USAGES = [
  "2.5.29.37.0",
  "1.3.6.1.5.5.7.3.1",
  "1.3.6.1.5.5.7.3.2",
  "1.3.6.1.5.5.7.3.3",
  "1.3.6.1.5.5.7.3.4",
  "1.3.6.1.5.5.7.3.5",
  "1.3.6.1.5.5.7.3.6",
  "1.3.6.1.5.5.7.3.7",
  "1.3.6.1.5.5.7.3.8",
  "1.3.6.1.5.5.7.3.9",
  "1.3.6.1.4.1.311.10.3.3",
  "2.16.840.1.113730.4.1",
  "1.3.6.1.4.1.311.2.1.22",
  "1.3.6.1.4.1.311.61.1.1",
];

export interface Usages {
  readonly known: readonly number[];
  readonly unknown: readonly string[];
}

export function extendedUsages(cert: Certificate): Usages {
  const oids =
    extensionValue(cert, "2.5.29.37")
      ?.sequence()
      .map((item) => item.oid()) ?? [];
  return {
    known: oids.map((oid) => EXT_USAGES.indexOf(oid)).filter((index) => index >= 0),
    unknown: oids.filter((oid) => !EXT_USAGES.includes(oid)),
  };
}

export interface Constraints {
  readonly valid: boolean;
  readonly isCa: boolean;
  /** -1: no limit. */
  readonly maxPath: number;
}

export function basicConstraints(cert: Certificate): Constraints {
  const parts = extensionValue(cert, "2.5.29.19")?.sequence();
  if (parts === undefined) return { valid: false, isCa: false, maxPath: -1 };
  const isCa = parts[0]?.tag === 1 && parts[0].boolean();
  const limit = parts.find((part) => part.tag === 2);
  return { valid: true, isCa, maxPath: limit === undefined ? -1 : Number(limit.integer()) };
}

function accessUrls(cert: Certificate, method: string): string[] {
  const items = extensionValue(cert, "1.3.6.1.5.5.7.1.1")?.sequence() ?? [];
  return items
    .map((item) => item.sequence())
    .filter(([oid, location]) => oid?.oid() === method && location?.tag === 0x86)
    .map(([, location]) => location?.text() ?? "");
}

function distributionPoints(cert: Certificate): string[] {
  const points = extensionValue(cert, "2.5.29.31")?.sequence() ?? [];
  const nested = (der: Der, tag: number): Der[] =>
    der.children().filter((child) => child.tag === tag);
  return points
    .flatMap((point) => nested(point, 0xa0))
    .flatMap((name) => nested(name, 0xa0))
    .flatMap((full) => nested(full, 0x86))
    .map((uri) => uri.text());
}

const policies = (cert: Certificate): string[] =>
  extensionValue(cert, "2.5.29.32")
    ?.sequence()
    .map((item) => item.sequence()[0]?.oid() ?? "") ?? [];

/** Name constraints of one kind: tag 0xa0 permits, 0xa1 excludes. */
export function nameConstraints(cert: Certificate, tag: 0xa0 | 0xa1, kind: number): Uint8Array[] {
  const trees =
    extensionValue(cert, "2.5.29.30")
      ?.sequence()
      .filter((part) => part.tag === tag) ?? [];
  return trees
    .flatMap((tree) => tree.children())
    .map((subtree) => subtree.sequence()[0])
    .filter((base) => base !== undefined && base.tag === kind)
    .map((base) => base?.body ?? new Uint8Array());
}

function constraintFields(cert: Certificate): Fields {
  const texts = (tag: 0xa0 | 0xa1, kind: number): Value =>
    listOrNull(nameConstraints(cert, tag, kind).map((bytes) => String.fromCharCode(...bytes)));
  const ranges = (tag: 0xa0 | 0xa1): Value =>
    listOrNull(
      nameConstraints(cert, tag, 0x87).map((bytes) =>
        record({
          IP: formatIp(bytes.subarray(0, bytes.length / 2)),
          Mask: base64(bytes.subarray(bytes.length / 2)),
        }),
      ),
    );
  const critical = cert.extensions.some(({ oid, critical: c }) => oid === "2.5.29.30" && c);
  return {
    PermittedDNSDomainsCritical: critical,
    PermittedDNSDomains: texts(0xa0, 0x82),
    ExcludedDNSDomains: texts(0xa1, 0x82),
    PermittedIPRanges: ranges(0xa0),
    ExcludedIPRanges: ranges(0xa1),
    PermittedEmailAddresses: texts(0xa0, 0x81),
    ExcludedEmailAddresses: texts(0xa1, 0x81),
    PermittedURIDomains: texts(0xa0, 0x86),
    ExcludedURIDomains: texts(0xa1, 0x86),
  };
}

const HANDLED = new Set([
  "2.5.29.14",
  "2.5.29.15",
  "2.5.29.17",
  "2.5.29.19",
  "2.5.29.30",
  "2.5.29.31",
  "2.5.29.32",
  "2.5.29.33",
  "2.5.29.35",
  "2.5.29.36",
  "2.5.29.37",
  "2.5.29.54",
  "1.3.6.1.5.5.7.1.1",
]);

export const unhandledCritical = (cert: Certificate): string[] =>
  cert.extensions
    .filter(({ oid, critical }) => critical && !HANDLED.has(oid))
    .map(({ oid }) => oid);

const bytesOrNull = (bytes: Uint8Array | undefined): Value =>
  bytes === undefined ? null : base64(bytes);

export function certificateValue(cert: Certificate, withUris = true): RegoObject {
  const usages = extendedUsages(cert);
  const basic = basicConstraints(cert);
  const authority = extensionValue(cert, "2.5.29.35")
    ?.sequence()
    .find((part) => part.tag === 0x80);
  const policyIds = policies(cert);
  return record({
    Raw: base64(cert.raw),
    RawTBSCertificate: base64(cert.tbs),
    RawSubjectPublicKeyInfo: base64(cert.spki),
    RawSubject: base64(cert.subject.raw),
    RawIssuer: base64(cert.issuer.raw),
    Signature: base64(cert.signature),
    SignatureAlgorithm: cert.signatureAlgorithm.id,
    PublicKeyAlgorithm: KEY_ALGORITHMS[cert.publicKey.kind],
    PublicKey: publicKeyValue(cert.publicKey),
    Version: cert.version,
    SerialNumber: numberFromBigInt(cert.serial),
    Issuer: nameValue(cert.issuer),
    Subject: nameValue(cert.subject),
    NotBefore: cert.notBefore,
    NotAfter: cert.notAfter,
    KeyUsage: keyUsage(cert),
    Extensions: extensionList(cert.extensions),
    ExtraExtensions: null,
    UnhandledCriticalExtensions: listOrNull(unhandledCritical(cert).map(oidParts)),
    ExtKeyUsage: listOrNull(usages.known),
    UnknownExtKeyUsage: listOrNull(usages.unknown.map(oidParts)),
    BasicConstraintsValid: basic.valid,
    IsCA: basic.isCa,
    MaxPathLen: basic.valid ? basic.maxPath : 0,
    MaxPathLenZero: basic.maxPath === 0,
    SubjectKeyId: bytesOrNull(extensionValue(cert, "2.5.29.14")?.body),
    AuthorityKeyId: bytesOrNull(authority?.body),
    OCSPServer: listOrNull(accessUrls(cert, "1.3.6.1.5.5.7.48.1")),
    IssuingCertificateURL: listOrNull(accessUrls(cert, "1.3.6.1.5.5.7.48.2")),
    CRLDistributionPoints: listOrNull(distributionPoints(cert)),
    PolicyIdentifiers: listOrNull(policyIds.map(oidParts)),
    Policies: listOrNull(policyIds),
    InhibitAnyPolicy: 0,
    InhibitAnyPolicyZero: false,
    InhibitPolicyMapping: 0,
    InhibitPolicyMappingZero: false,
    RequireExplicitPolicy: 0,
    RequireExplicitPolicyZero: false,
    PolicyMappings: null,
    ...alternativeNames(cert),
    ...constraintFields(cert),
    ...(withUris ? { URIStrings: listOrNull(subjectNames(cert).uris) } : {}),
  });
}

function attributeValue(attribute: Der): Value {
  const [oid, values] = attribute.sequence();
  const sets = values?.children() ?? [];
  return record({
    Type: oidParts(oid?.oid() ?? ""),
    Value: sets.map((set) =>
      set.children().map((item) => {
        const parts = item.sequence();
        return record({
          Type: oidParts(parts[0]?.oid() ?? ""),
          Value: base64(parts.at(-1)?.body ?? new Uint8Array()),
        });
      }),
    ),
  });
}

const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";

export function requestValue(csr: CertificateRequest): RegoObject {
  const attributes = csr.attributes.filter((a) => a.sequence()[0]?.oid() === EXTENSION_REQUEST);
  return record({
    Raw: base64(csr.raw),
    RawTBSCertificateRequest: base64(csr.tbs),
    RawSubjectPublicKeyInfo: base64(csr.spki),
    RawSubject: base64(csr.subject.raw),
    Version: csr.version,
    Signature: base64(csr.signature),
    SignatureAlgorithm: csr.signatureAlgorithm.id,
    PublicKeyAlgorithm: KEY_ALGORITHMS[csr.publicKey.kind],
    PublicKey: publicKeyValue(csr.publicKey),
    Subject: nameValue(csr.subject),
    Attributes: listOrNull(attributes.map(attributeValue)),
    Extensions: extensionList(csr.extensions),
    ExtraExtensions: null,
    ...alternativeNames(csr),
  });
}
