// What an API asks for as proof, as headers of its server with a reference in place of each secret.
import type { JsonObject } from "../../contract/call.ts";
import { isObject, pointer, resolved, type ApiDocument, type ConversionNote } from "./document.ts";
import { isHeaderName, isSteering } from "./headers.ts";

export interface Proof {
  /** As the document calls it. */
  readonly scheme: string;
  /** A header of the server, or `query:NAME`. */
  readonly header: string;
  /** Its value, with `${credential:NAME}`. */
  readonly value: string;
}

/** By the names of the document; unsupported schemes are reported in the notes. */
export function proofsOf(document: ApiDocument, notes: ConversionNote[]): Map<string, Proof> {
  const { components } = document.root;
  const schemes = isObject(components) ? components["securitySchemes"] : undefined;
  const found = new Map<string, Proof>();
  for (const [scheme, given] of Object.entries(isObject(schemes) ? schemes : {})) {
    const at = pointer("components", "securitySchemes", scheme);
    const resolution = resolved(document, given, at);
    const proof = "value" in resolution ? proofOf(scheme, resolution.value) : null;
    if (proof) found.set(scheme, proof);
    else
      notes.push(
        "value" in resolution
          ? {
              path: at,
              message:
                "this kind of authorization cannot be had here; add a header to the server by hand",
            }
          : resolution,
      );
  }
  return found;
}

function proofOf(
  scheme: string,
  { type, in: place, name, scheme: http }: JsonObject,
): Proof | null {
  const reference = `\${credential:${credentialName(scheme)}}`;
  const bearer = { scheme, header: "Authorization", value: `Bearer ${reference}` };
  if (type === "oauth2" || type === "openIdConnect") return bearer;
  if (type === "http" && typeof http === "string") {
    // Basic takes user:password in base64, as the header holds it.
    if (http.toLowerCase() === "bearer") return bearer;
    return http.toLowerCase() === "basic" ? { ...bearer, value: `Basic ${reference}` } : null;
  }
  if (type !== "apiKey" || typeof name !== "string") return null;
  if (place === "header" && isHeaderName(name) && !isSteering(name))
    return { scheme, header: name, value: reference };
  if (place === "query" && name !== "")
    return { scheme, header: `query:${name}`, value: reference };
  return place === "cookie" && /^[\w!#$%&'*+.^`|~-]+$/.test(name)
    ? { scheme, header: "Cookie", value: `${name}=${reference}` }
    : null;
}

const credentialName = (scheme: string): string => {
  const plain = scheme.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 64);
  return /^[A-Za-z]/.test(plain) ? plain : `key_${plain}`.slice(0, 64);
};

/** The schemes of the first way that can be gone; an empty list: nothing is asked for. */
export function schemesOf(
  security: unknown,
  proofs: ReadonlyMap<string, Proof>,
): readonly string[] | null {
  if (!Array.isArray(security) || security.length === 0) return [];
  const ways = security
    .filter((way): way is JsonObject => isObject(way as JsonObject))
    .map((way) => Object.keys(way));
  return (
    ways.find((way) => way.length > 0 && way.every((scheme) => proofs.has(scheme))) ??
    ways.find((way) => way.length === 0) ??
    null
  );
}
