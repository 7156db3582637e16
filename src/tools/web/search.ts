import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "web/search",
  description:
    "Search the web and return titles, addresses and snippets, best first; an empty list when nothing is found. " +
    "Read a result with web/fetch.",
  input: z.strictObject({
    query: z.string().min(1).max(400).describe("What to look for."),
    maxResults: z.int().min(1).max(50).default(10).describe("Most results to return."),
    language: z
      .string()
      .max(16)
      .regex(/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})?$/)
      .optional()
      .describe("Language of the results, e.g. en or de-AT."),
    timeRange: z
      .enum(["day", "week", "month", "year"])
      .optional()
      .describe("Only what is at most this old."),
    categories: z
      .string()
      .max(100)
      .regex(/^[\w ,-]+$/)
      .optional()
      .describe("Kind of results, in the provider's own words, e.g. general or news."),
    site: z
      .string()
      .max(253)
      .regex(/^[A-Za-z0-9.-]+$/)
      .optional()
      .describe("Only results of this host."),
  }),
  output: z.strictObject({
    query: z.string(),
    provider: z.string(),
    results: z.array(
      z.strictObject({
        rank: z.int(),
        title: z.string(),
        url: z.string(),
        snippet: z.string(),
        published: z.string().optional(),
        site: z.string().describe("Host of the result."),
      }),
    ),
    tookMs: z.int(),
  }),
  risk: "moderate",
  effects: "network",
  needs: ["fetch", "clock"],
  timeoutMs: 15_000,
  rateLimitPerHour: 120,
  idempotent: true,
  cacheable: true,
  tags: ["web", "search"],
  examples: [
    { query: "history of door locks" },
    { query: "door closers", maxResults: 3, site: "example.org" },
  ],
  async run(input, powers, context) {
    const began = powers.clock.now();
    const { query, maxResults, language, timeRange, categories, site } = input;
    const found = await powers["fetch"].search({
      query,
      maxResults,
      ...(language === undefined ? {} : { language }),
      ...(timeRange === undefined ? {} : { timeRange }),
      ...(categories === undefined ? {} : { categories }),
      ...(site === undefined ? {} : { site }),
    });
    context.note({ untrusted: true });
    const results = found.results.map(({ title, url, snippet, published }, index) => ({
      rank: index + 1,
      title,
      url,
      snippet,
      ...(published === undefined ? {} : { published }),
      site: URL.parse(url)?.hostname ?? "",
    }));
    return {
      query,
      provider: found.provider,
      results,
      tookMs: Math.max(0, powers.clock.now() - began),
    };
  },
});
