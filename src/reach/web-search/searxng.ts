// SearXNG: one's own instance. Its JSON format must be enabled in settings.yml (search.formats).
import { answerOf, hitOf, listAt, withSite, type SearchProvider } from "./web-search.ts";

const NAMES = { snippet: "content", published: "publishedDate" };
/** A page holds as many as the engines give; more pages are asked for up to this. */
const MAX_PAGES = 5;

export function searxng(base: string): SearchProvider {
  return {
    name: "searxng",
    async search(question, ask) {
      const hits = [];
      for (let page = 1; page <= MAX_PAGES && hits.length < question.maxResults; page++) {
        const url = new URL("search", base.endsWith("/") ? base : `${base}/`);
        url.searchParams.set("q", withSite(question));
        url.searchParams.set("format", "json");
        url.searchParams.set("pageno", String(page));
        if (question.language !== undefined) url.searchParams.set("language", question.language);
        if (question.timeRange !== undefined)
          url.searchParams.set("time_range", question.timeRange);
        if (question.categories !== undefined)
          url.searchParams.set("categories", question.categories);
        const answer = answerOf(
          "searxng",
          await ask({ url: url.href, method: "GET", headers: { accept: "application/json" } }),
        );
        const found = listAt(answer, "results")
          .map((fields) => hitOf(fields, NAMES))
          .filter((hit) => hit !== null);
        if (found.length === 0) break;
        hits.push(...found);
      }
      return hits.slice(0, question.maxResults);
    },
  };
}
