// Finds the secrets in the configuration, which must never appear in a record, a log or an answer.
import { isSecretField } from "../util/secrets/mask.ts";

/** `scheme://user:password@…`. */
const PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/([^\s:/?#@]*):([^\s/]+)@/i;

/** Values of fields with a secret's name, values of `secrets`, and passwords in addresses. */
export function secretsOf(config: object): string[] {
  const found = new Set<string>();
  const visit = (value: unknown, isSecret: boolean): void => {
    if (typeof value === "string") {
      if (isSecret) found.add(value);
      for (const password of passwordsOf(value)) found.add(password);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value))
        visit(inner, typeof inner === "string" && (isSecretField(name) || /key$/i.test(name)));
    }
  };
  visit(config, false);
  for (const { value } of Object.values(namedSecrets(config))) found.add(value);
  for (const value of headersOf(config)) found.add(value);
  return [...found];
}

const namedSecrets = (config: object): Readonly<Record<string, { readonly value: string }>> =>
  "secrets" in config ? (config.secrets as Record<string, { value: string }>) : {};

/** A collector's key travels in a header: `name=value,name=value`, percent-encoded. */
function headersOf(config: object): string[] {
  const { telemetry } = config as { telemetry?: { otlp?: { headers?: string } } };
  const pairs = telemetry?.otlp?.headers?.split(",") ?? [];
  return pairs.flatMap((pair) => spellingsOf(pair.slice(pair.indexOf("=") + 1).trim()));
}

/** A password equal to the user's name is no secret, and masking it would mask the name. */
function passwordsOf(address: string): string[] {
  const [, user = "", password = ""] = PASSWORD.exec(address) ?? [];
  if (password === "" || password === user) return [];
  return spellingsOf(password);
}

function spellingsOf(encoded: string): string[] {
  try {
    return [encoded, decodeURIComponent(encoded)];
  } catch {
    return [encoded];
  }
}
