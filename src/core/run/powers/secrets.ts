// Secrets for headers. A tool handles sealed headers it cannot read; only the fetch power opens them, for their own
// hosts.
import { AppError } from "../../../contract/errors.ts";
import type { SealedHeaders, SecretsPower } from "../../../contract/powers/web.ts";
import { quote } from "../../../util/text/quote.ts";

export interface Secret {
  readonly value: string;
  /** `api.example.org`, or `*.example.org` for all below it. */
  readonly hosts: readonly string[];
}

export interface OpenedHeaders {
  readonly plain: Readonly<Record<string, string>>;
  /** Values with secrets in them. */
  readonly secret: Readonly<Record<string, string>>;
  /** The secrets in them: where they may go, and what must not come back. */
  readonly used: readonly (Secret & { readonly name: string })[];
}

export interface SecretVault {
  readonly power: SecretsPower;
  /** Null for what this vault has not sealed. */
  open(headers: object): OpenedHeaders | null;
}

const REFERENCE = /\$\{secret:([^${}]*)\}/g;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** Headers of the connection or of proxies: only the server sets them. */
const RESERVED =
  /^(host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|expect|via|http2-settings)$/i;
const CREDENTIALS =
  /^(authorization|cookie|.*(api|access|auth|secret)[-_]?(key|token|secret)|private-token|.*-auth(orization)?|x-auth.*)$/i;
const MAX_VALUE = 8_192;

export function openVault(secrets: Readonly<Record<string, Secret>>): SecretVault {
  const sealed = new WeakMap<object, OpenedHeaders>();
  return {
    power: {
      seal(headers) {
        const token = Object.freeze({}) as SealedHeaders;
        sealed.set(token, resolved(headers, secrets));
        return token;
      },
    },
    open: (headers) => sealed.get(headers) ?? null,
  };
}

/** Headers without any secret, as a tool without the power may send them. */
export const plainHeaders = (headers: Readonly<Record<string, string>>): OpenedHeaders =>
  resolved(headers, {});

function resolved(
  headers: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, Secret>>,
): OpenedHeaders {
  const plain: Record<string, string> = {};
  const secret: Record<string, string> = {};
  const used = new Map<string, Secret & { name: string }>();
  for (const [name, given] of Object.entries(headers)) {
    if (!TOKEN.test(name))
      throw forbidden(name, "is no valid header name", "use letters, digits and -");
    if (RESERVED.test(name))
      throw forbidden(name, "is set by the connection itself", "leave it out");
    const value = given.replace(REFERENCE, (_whole, key: string) => {
      const found = Object.hasOwn(secrets, key) ? secrets[key] : undefined;
      if (!found)
        throw forbidden(
          name,
          `there is no secret ${quote(key)} for it`,
          "ask an administrator to add it under secrets",
        );
      used.set(key, { ...found, name: key });
      return found.value;
    });
    const hasSecret = given.includes("${secret:");
    // The value itself is not shown: it may be a secret.
    if (value.length > MAX_VALUE || !/^[\t\x20-\x7e\xa0-\xff]*$/.test(value))
      throw forbidden(
        name,
        "holds control characters or is too long",
        `use at most ${MAX_VALUE} visible characters`,
      );
    if (!hasSecret && CREDENTIALS.test(name))
      throw forbidden(
        name,
        "takes no credential in plain text",
        "write it as ${secret:name} and have an administrator add the secret",
      );
    (hasSecret ? secret : plain)[name.toLowerCase()] = value;
  }
  return { plain, secret, used: [...used.values()] };
}

export function forbidden(name: string, why: string, remedy: string): AppError {
  return new AppError("FORBIDDEN", "header_forbidden", `header ${quote(name)} ${why}`, { remedy });
}
