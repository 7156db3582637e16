// Finds secrets that were written in plain text where a reference belongs, and takes them out before anything is
// stored.
import { isPlaceholder } from "../../../util/secrets/appearance.ts";
import { isSecretField, isSecretName } from "../../../util/secrets/mask.ts";
import { findSecrets } from "../../../util/secrets/redact.ts";

export interface WithoutSecrets {
  readonly texts: Readonly<Record<string, string>>;
  /** By the name of the credential that stands in their place now. */
  readonly secrets: Readonly<Record<string, string>>;
}

const REFERENCE = /\$\{credential:/;
const SCHEME = /^(Bearer|Basic|Token|ApiKey)\s+(?=\S)/i;
const MIN_SECRET = 6;

/** Of variables of an environment, or of headers. */
export function withoutSecrets(
  given: Readonly<Record<string, string>>,
  kind: "env" | "headers",
): WithoutSecrets {
  const secrets: Record<string, string> = {};
  const texts = Object.entries(given).map(([name, text]): [string, string] => {
    if (!isSecret(name, text, kind)) return [name, text];
    const credential = credentialName(name);
    // The scheme is no secret, and the credential alone can then be replaced.
    const scheme = kind === "headers" ? (SCHEME.exec(text)?.[0] ?? "") : "";
    secrets[credential] = text.slice(scheme.length);
    return [name, `${scheme}\${credential:${credential}}`];
  });
  return { texts: Object.fromEntries(texts), secrets };
}

function isSecret(name: string, text: string, kind: "env" | "headers"): boolean {
  if (REFERENCE.test(text) || text.length < MIN_SECRET || isPlaceholder(text)) return false;
  const byName =
    kind === "env" ? isSecretName(name) : isSecretField(name) || /^x-.*(?:key|auth)$/i.test(name);
  return byName || findSecrets(`${name}: ${text}`).length > 0;
}

/** `X-Api-Key` => `X_API_KEY`. */
export function credentialName(name: string): string {
  const plain = name
    .replace(/[^A-Za-z0-9]+/g, "_")
    .replace(/^[^A-Za-z]+/, "")
    .toUpperCase();
  return plain.slice(0, 64) || "SECRET";
}
