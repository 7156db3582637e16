// Brave Search. It answers with at most 20 hits a page, and ten pages.
import { answerOf, hitOf, listAt, withSite, type SearchProvider } from "./web-search.ts";

const ADDRESS = "https://api.search.brave.com/res/v1/web/search";
const FRESHNESS = { day: "pd", week: "pw", month: "pm", year: "py" } as const;
const NAMES = { snippet: "description", published: "page_age" };
const PER_PAGE = 20;

export function brave(address: string | undefined, apiKey: string): SearchProvider {
  return {
    name: "brave",
    async search(question, ask) {
      const hits = [];
      for (
        let page = 0;
        hits.length < question.maxResults && page * PER_PAGE < question.maxResults;
        page++
      ) {
        const url = new URL(address ?? ADDRESS);
        url.searchParams.set("q", withSite(question));
        url.searchParams.set("count", String(Math.min(PER_PAGE, question.maxResults)));
        url.searchParams.set("offset", String(page));
        if (question.language !== undefined) url.searchParams.set("search_lang", question.language);
        if (question.timeRange !== undefined)
          url.searchParams.set("freshness", FRESHNESS[question.timeRange]);
        if (question.categories !== undefined)
          url.searchParams.set("result_filter", question.categories);
        const headers = { accept: "application/json", "x-subscription-token": apiKey };
        const answer = answerOf("brave", await ask({ url: url.href, method: "GET", headers }));
        const found = listAt(answer, "web", "results")
          .map((fields) => hitOf(fields, NAMES))
          .filter((hit) => hit !== null);
        hits.push(...found);
        if (found.length < PER_PAGE) break;
      }
      return hits.slice(0, question.maxResults);
    },
  };
}
