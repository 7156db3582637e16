// The configured search provider, called through the egress guard: only its own address is reached.
import type { Egress, EgressRules } from "../../../../reach/egress/egress.ts";
import { AppError } from "../../../../contract/errors.ts";
import type { SendRequest, SearchProvider } from "../../../../reach/web-search/web-search.ts";
import type { FetchPower } from "../../../../contract/powers/web.ts";

export type SearchPower = Pick<FetchPower, "search">;

export interface SearchPowerSettings {
  readonly egress: Egress;
  readonly provider: () => Promise<SearchProvider | null>;
  readonly rulesFor: (url: string) => EgressRules;
}

const MAX_ANSWER_BYTES = 4_194_304;

export function searchPower({ egress, provider, rulesFor }: SearchPowerSettings) {
  return (signal: AbortSignal): SearchPower => ({
    async search(query) {
      const chosen = await provider();
      if (!chosen) throw notConfigured();
      const ask: SendRequest = async ({ url, method, headers, body }) => {
        const request = {
          url,
          method,
          headers,
          maxRedirects: 0,
          maxBytes: MAX_ANSWER_BYTES,
          ...(body === undefined ? {} : { body }),
        };
        const response = await egress.request(request, { rules: rulesFor(url), signal });
        const chunks: Uint8Array[] = [];
        for await (const chunk of response.body) chunks.push(chunk);
        return { status: response.status, text: Buffer.concat(chunks).toString("utf8") };
      };
      return { provider: chosen.name, results: await chosen.search(query, ask) };
    },
  });
}

function notConfigured(): AppError {
  return new AppError(
    "UNAVAILABLE",
    "provider_not_configured",
    "no search provider is configured",
    {
      remedy:
        "set OSTIARY_SEARCH_PROVIDER=duckduckgo (no key needed), or see search.provider in docs/config.md",
    },
  );
}
