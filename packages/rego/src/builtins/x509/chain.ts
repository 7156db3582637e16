// Whether a leaf certificate is signed, through intermediates, by a root.
import { toIpv4 } from "../../go/ip.ts";
import { subjectNames } from "../../go/x509.ts";
import type { Certificate } from "../../go/x509.ts";
import type { CryptoPower } from "../builtin.ts";
import {
  basicConstraints,
  extendedUsages,
  keyUsage,
  nameConstraints,
  unhandledCritical,
} from "./values.ts";

export interface ChainOptions {
  readonly crypto: CryptoPower;
  readonly nowMs: number;
  readonly dnsName?: string;
  /** Numbers of extended key usages; 0 is any. */
  readonly usages: readonly number[];
}

const SERVER_AUTH = 1;
const ANY_USAGE = 0;
const CERT_SIGN = 1 << 5;

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

function isSignedBy(cert: Certificate, issuer: Certificate, crypto: CryptoPower): boolean {
  const { hash, pss, id } = cert.signatureAlgorithm;
  // SHA-1 and older are not accepted.
  if (hash === "sha1" || (hash === undefined && id !== 16)) return false;
  return crypto.verify(
    hash ?? null,
    cert.tbs,
    {
      key: issuer.spki,
      format: "der",
      type: "spki",
      visibility: "public",
      ...(issuer.publicKey.kind === "rsa" ? { padding: pss ? "pss" : "pkcs1" } : {}),
      ...(issuer.publicKey.kind === "ec" ? { dsaEncoding: "der" } : {}),
    },
    cert.signature,
  );
}

function isCurrent(cert: Certificate, nowMs: number): boolean {
  return Date.parse(cert.notBefore) <= nowMs && nowMs <= Date.parse(cert.notAfter);
}

/** May `cert` issue certificates with `below` intermediates between it and the leaf? */
function mayIssue(cert: Certificate, below: number): boolean {
  const basic = basicConstraints(cert);
  if (cert.version === 3 && !(basic.valid && basic.isCa)) return false;
  const usage = keyUsage(cert);
  if (usage !== 0 && (usage & CERT_SIGN) === 0) return false;
  return basic.maxPath < 0 || below <= basic.maxPath;
}

const text = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

function inDomain(name: string, constraint: string): boolean {
  const [host, domain] = [name.toLowerCase(), constraint.toLowerCase()];
  if (domain === "") return true;
  return domain.startsWith(".")
    ? host.endsWith(domain)
    : host === domain || host.endsWith(`.${domain}`);
}

function inRange(ip: Uint8Array, range: Uint8Array): boolean {
  const half = range.length / 2;
  const address = half === 4 ? (toIpv4(ip) ?? ip) : ip;
  if (address.length !== half) return false;
  return address.every(
    (byte, i) => (byte & (range[half + i] ?? 0)) === ((range[i] ?? 0) & (range[half + i] ?? 0)),
  );
}

/** Names of the leaf against the constraints of a certificate above it. */
function namesAllowed(leaf: Certificate, ca: Certificate): boolean {
  const names = subjectNames(leaf);
  const allowed = <T>(
    items: readonly T[],
    kind: number,
    holds: (item: T, base: Uint8Array) => boolean,
  ): boolean => {
    const permitted = nameConstraints(ca, 0xa0, kind);
    const excluded = nameConstraints(ca, 0xa1, kind);
    return items.every(
      (item) =>
        (permitted.length === 0 || permitted.some((base) => holds(item, base))) &&
        !excluded.some((base) => holds(item, base)),
    );
  };
  const mailHost = (mail: string): string => mail.slice(mail.lastIndexOf("@") + 1);
  const uriHost = (uri: string): string => /^[^:]*:\/\/(?:[^@/]*@)?([^:/]*)/.exec(uri)?.[1] ?? "";
  return (
    allowed(names.dns, 0x82, (name, base) => inDomain(name, text(base))) &&
    allowed(names.ips, 0x87, inRange) &&
    allowed(
      names.emails,
      0x81,
      (mail, base) => text(base) === mail || inDomain(mailHost(mail), text(base)),
    ) &&
    allowed(names.uris, 0x86, (uri, base) => inDomain(uriHost(uri), text(base)))
  );
}

function usageAllowed(chain: readonly Certificate[], wanted: readonly number[]): boolean {
  const usages = wanted.length === 0 ? [SERVER_AUTH] : wanted;
  if (usages.includes(ANY_USAGE)) return true;
  return usages.some((usage) =>
    chain.every((cert) => {
      const { known, unknown } = extendedUsages(cert);
      const unrestricted = known.length === 0 && unknown.length === 0;
      return unrestricted || known.includes(ANY_USAGE) || known.includes(usage);
    }),
  );
}

function matchesHost(cert: Certificate, host: string): boolean {
  const wanted = host.toLowerCase().replace(/\.$/, "");
  return subjectNames(cert).dns.some((pattern) => {
    const name = pattern.toLowerCase();
    if (!name.startsWith("*.")) return name === wanted;
    const dot = wanted.indexOf(".");
    return dot > 0 && wanted.slice(dot) === name.slice(1);
  });
}

/** The chain from the last certificate to the first, or undefined when there is none. */
export function verifyChain(
  certs: readonly Certificate[],
  options: ChainOptions,
): Certificate[] | undefined {
  const [root, ...rest] = certs;
  const leaf = rest.pop();
  if (root === undefined || leaf === undefined) return undefined;
  if (unhandledCritical(leaf).length > 0 || !isCurrent(leaf, options.nowMs)) return undefined;
  if (
    options.dnsName !== undefined &&
    options.dnsName !== "" &&
    !matchesHost(leaf, options.dnsName)
  )
    return undefined;
  const extend = (chain: readonly Certificate[]): Certificate[] | undefined => {
    const last = chain.at(-1) as Certificate;
    for (const issuer of [root, ...rest.filter((cert) => !chain.includes(cert))]) {
      if (!sameBytes(last.issuer.raw, issuer.subject.raw)) continue;
      if (unhandledCritical(issuer).length > 0 || !isCurrent(issuer, options.nowMs)) continue;
      if (!mayIssue(issuer, chain.length - 1) || !namesAllowed(leaf, issuer)) continue;
      if (!isSignedBy(last, issuer, options.crypto)) continue;
      const longer = [...chain, issuer];
      const whole = issuer === root ? longer : extend(longer);
      if (whole !== undefined && usageAllowed(whole, options.usages)) return whole;
    }
    return undefined;
  };
  if (sameBytes(leaf.raw, root.raw))
    return usageAllowed([leaf], options.usages) ? [leaf] : undefined;
  return extend([leaf]);
}
