// The way in for APIs: a document as text, a document at an address, or endpoints written by hand.
import type { Egress } from "../egress/egress.ts";
import { rulesForOperator } from "../egress/operator.ts";
import { MAX_DOCUMENT_BYTES, refused } from "./document.ts";
import { definitionsOf, type ApiEndpoint } from "./endpoint.ts";
import { importOpenApi, type ApiImport, type OpenApiOptions } from "./openapi.ts";
import { checkedPointers } from "./select.ts";
import { baseOf } from "./request.ts";

export interface ApiSource extends Omit<OpenApiOptions, "documentUrl"> {
  /** The text of an OpenAPI document, JSON or YAML, or the address it is fetched from. */
  readonly openapi?: string | undefined;
  readonly endpoints?: readonly ApiEndpoint[] | undefined;
  /** Where the API lives; absent: as the document proposes, or where the first endpoint is. */
  readonly url?: string | undefined;
}

export type ImportApi = (source: ApiSource, signal: AbortSignal) => Promise<ApiImport>;

const MAX_ITEMS = 100_000;
const ADDRESS = /^https?:\/\/\S+$/i;

/** Throws BAD_REQUEST with the place of each fault. */
export function apiImporter({ egress }: { readonly egress: Pick<Egress, "request"> }): ImportApi {
  return async (source, signal) => {
    const { openapi, endpoints, url } = source;
    if ((openapi === undefined) === (endpoints === undefined))
      throw refused("", "expected either openapi or endpoints", "send one of the two");
    if (url !== undefined) baseOf(url);
    for (const [name, shape] of Object.entries(source.shape ?? {}))
      requireShape(shape, `/shape/${name}`);
    if (openapi !== undefined) {
      const isAddress = ADDRESS.test(openapi.trim());
      const text = isAddress ? await fetched(openapi.trim(), egress, signal) : openapi;
      const found = await importOpenApi(text, {
        ...source,
        documentUrl: isAddress ? openapi.trim() : undefined,
      });
      return url === undefined ? found : { ...found, url };
    }
    const given = endpoints ?? [];
    given.forEach((one, index) => requireShape(one, `/endpoints/${index}`));
    const base = url ?? homeOf(given[0]?.url ?? "");
    const { operations, notes } = definitionsOf(given, base);
    return { title: "", description: "", url: base, headers: {}, operations, notes };
  };
}

function requireShape(
  { select, maxItems }: Pick<ApiEndpoint, "select" | "maxItems">,
  at: string,
): void {
  if (select !== undefined) checkedPointers(select, `${at}/select`);
  if (
    maxItems !== undefined &&
    !(Number.isInteger(maxItems) && maxItems >= 1 && maxItems <= MAX_ITEMS)
  )
    throw refused(
      `${at}/maxItems`,
      `expected 1 to ${MAX_ITEMS}, got ${maxItems}`,
      "leave it out to hand everything on",
    );
}

/** The host that an endpoint names. */
function homeOf(address: string): string {
  const url = URL.parse(address.replace(/[{?#].*$/s, ""));
  if (!url || !/^https?:$/.test(url.protocol))
    throw refused("/url", "where does the API live?", "send url, as https://host/path");
  return url.origin;
}

/** Through the guard: the host that was named, and no other. */
async function fetched(
  url: string,
  egress: Pick<Egress, "request">,
  signal: AbortSignal,
): Promise<string> {
  const headers = {
    accept: "application/json, application/yaml, text/yaml, */*;q=0.5",
    "user-agent": "ostiary",
  };
  const response = await egress.request(
    { url, method: "GET", headers, maxRedirects: 3, maxBytes: MAX_DOCUMENT_BYTES },
    { rules: rulesForOperator(url), signal },
  );
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  if (response.status !== 200)
    throw refused(
      "/openapi",
      `the address answered ${response.status}`,
      "check it, or send the document itself",
    );
  if (response.truncated())
    throw refused("/openapi", `expected at most ${MAX_DOCUMENT_BYTES} bytes`, "split the document");
  return Buffer.concat(chunks).toString("utf8");
}
