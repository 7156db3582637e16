// Tavily. It answers with at most 20 hits and knows sites as a list of domains.
import { answerOf, hitOf, listAt, type SearchProvider } from "./web-search.ts";

const ADDRESS = "https://api.tavily.com/search";
const NAMES = { snippet: "content", published: "published_date" };
const MAX_RESULTS = 20;

export function tavily(address: string | undefined, apiKey: string): SearchProvider {
  return {
    name: "tavily",
    async search({ query, maxResults, timeRange, categories, site }, ask) {
      const body = JSON.stringify({
        query,
        max_results: Math.min(maxResults, MAX_RESULTS),
        ...(timeRange === undefined ? {} : { time_range: timeRange }),
        ...(categories === undefined ? {} : { topic: categories }),
        ...(site === undefined ? {} : { include_domains: [site] }),
      });
      const headers = {
        accept: "application/json",
        "content-type": "application/json",
        authorization: `Bearer ${apiKey}`,
      };
      const answer = answerOf(
        "tavily",
        await ask({ url: address ?? ADDRESS, method: "POST", headers, body }),
      );
      const hits = listAt(answer, "results").map((fields) => hitOf(fields, NAMES));
      return hits.filter((hit) => hit !== null).slice(0, maxResults);
    },
  };
}
