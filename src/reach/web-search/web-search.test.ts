// The providers' own formats, spoken by a local stand-in, through the real tool, power and guard.
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { openWeb, type Web } from "../../../test/fixtures/web.ts";
import search from "../../tools/web/search.ts";

const open: { web?: Web; bench?: Bench } = {};
afterEach(async () => {
  await open.bench?.close();
  await open.web?.close();
});

type Answer = (req: IncomingMessage, res: ServerResponse, body: string) => boolean;
interface Asked {
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A bench whose provider answers with this, and what it was asked. */
async function withProvider(
  flags: Record<string, string>,
  answer: (asked: Asked) => [number, unknown],
): Promise<{ bench: Bench; asked: Asked[]; web: Web }> {
  const asked: Asked[] = [];
  const page: Answer = (req, res, body) => {
    const one = {
      url: new URL(`https://${req.headers.host ?? ""}${req.url ?? ""}`),
      headers: req.headers,
      body,
    };
    asked.push(one);
    const [status, content] = answer(one);
    res
      .writeHead(status, { "content-type": "application/json" })
      .end(typeof content === "string" ? content : JSON.stringify(content));
    return true;
  };
  const web = (open.web = await openWeb({
    answer: page,
    hosts: ["api.search.brave.com", "api.tavily.com", "html.duckduckgo.com"],
  }));
  const bench = (open.bench = await openBench({ flags, egress: web.egress }));
  return { bench, asked, web };
}

const SEARXNG = { "search.provider": "searxng", "search.url": "https://searx.example.org/sub" };
const BRAVE = { "search.provider": "brave", "search.apiKey": "brave-key" };
const DUCKDUCKGO = { "search.provider": "duckduckgo" };
const TAVILY = { "search.provider": "tavily", "search.apiKey": "tavily-key" };

describe("searxng", () => {
  test("is asked for JSON with all options; hits come in order, without what is no web page", async () => {
    const { bench, asked } = await withProvider(SEARXNG, ({ url }) => [
      200,
      {
        results:
          url.searchParams.get("pageno") === "1"
            ? [
                {
                  title: "One",
                  url: "https://one.example.org/a",
                  content: "first <b>hit</b>",
                  publishedDate: "2026-01-02",
                },
                { title: "Bad", url: "javascript:alert(1)", content: "" },
                { title: "Two", url: "http://two.example.org/", content: null },
              ]
            : [],
      },
    ]);
    const answer = await bench.run(search, {
      query: "doors & locks",
      language: "de",
      timeRange: "week",
      categories: "news",
      site: "example.org",
    });
    expect(answer).toEqual({
      query: "doors & locks",
      provider: "searxng",
      results: [
        {
          rank: 1,
          title: "One",
          url: "https://one.example.org/a",
          snippet: "first hit",
          published: "2026-01-02",
          site: "one.example.org",
        },
        {
          rank: 2,
          title: "Two",
          url: "http://two.example.org/",
          snippet: "",
          site: "two.example.org",
        },
      ],
      tookMs: 0,
    });
    expect(asked[0]?.url.pathname).toBe("/sub/search");
    expect(Object.fromEntries(asked[0]?.url.searchParams ?? [])).toEqual({
      q: "doors & locks site:example.org",
      format: "json",
      pageno: "1",
      language: "de",
      time_range: "week",
      categories: "news",
    });
    expect(bench.notes).toEqual([{ untrusted: true }]);
  });

  test("further pages are asked for until there are enough; nothing found is an empty list", async () => {
    const hits = (page: number) =>
      Array.from({ length: 4 }, (_none, at) => ({
        title: `${page}.${at}`,
        url: `https://example.org/${page}/${at}`,
        content: "",
      }));
    const { bench, asked } = await withProvider(SEARXNG, ({ url }) => [
      200,
      url.searchParams.get("q") === "none"
        ? { results: [] }
        : { results: hits(Number(url.searchParams.get("pageno"))) },
    ]);
    expect((await bench.run(search, { query: "x", maxResults: 6 }))["results"]).toHaveLength(6);
    expect(asked).toHaveLength(2);
    expect(await bench.run(search, { query: "none" })).toMatchObject({ results: [] });
  });

  test("an instance inside is reached, since the operator named it, and nothing else there", async () => {
    const { bench, web } = await withProvider(
      { "search.provider": "searxng", "search.url": "http://127.0.0.1:8888" },
      () => [200, { results: [] }],
    );
    await bench.run(search, { query: "x" });
    expect(web.dialled).toEqual(["127.0.0.1:8888"]);
  });
});

describe("item 6: duckduckgo", () => {
  const hit = (name: string, more = ""): string =>
    `<div class="result results_links web-result ${more}">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=${encodeURIComponent(`https://example.org/${name}`)}&amp;rut=abc">The <b>${name}</b> &#x27;one&#39;</a></h2>
<a class="result__url" href="//duckduckgo.com/l/?uddg=x">example.org</a>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">About ${name} &lt;i&gt; &amp;amp; more</a></div>`;
  const next = (from: number): string =>
    `<form action="/html/" method="post"><input type="submit" value='Previous' /><input type="hidden" name="q" value="back" /></form>
<div class="nav-link"><form action="/html/" method="post"><input type="submit" class='btn btn--alt' value="Next" />
<input type="hidden" name="q" value="a &quot;b&quot;"><input type="hidden" name="s" value="${from}" /><input name="vqd" value="4-1" type="hidden" /></form></div>`;

  test("hits with their own addresses, in order; advertisements are left out", async () => {
    const ad = `<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Buy</a></div>`;
    const direct = `<div class="result"><a href="https://direct.example.org/p?a=1&amp;b=2" class="result__a">Direct</a></div>`;
    const { bench, asked } = await withProvider(DUCKDUCKGO, () => [
      200,
      `<html>${ad}${hit("one")}${direct}</html>`,
    ]);
    const answer = await bench.run(search, {
      query: "doors & locks",
      language: "de-AT",
      timeRange: "week",
      site: "example.org",
      categories: "general",
    });
    expect(answer).toMatchObject({
      provider: "duckduckgo",
      results: [
        {
          title: "The one 'one'",
          url: "https://example.org/one",
          snippet: "About one <i> &amp; more",
        },
        { title: "Direct", url: "https://direct.example.org/p?a=1&b=2", snippet: "" },
      ],
    });
    expect(asked).toHaveLength(1);
    expect(Object.fromEntries(asked[0]?.url.searchParams ?? [])).toEqual({
      q: "doors & locks site:example.org",
      kl: "at-de",
      df: "w",
    });
  });

  test("further pages are asked for with the form of the page before, until there are enough", async () => {
    const { bench, asked } = await withProvider(DUCKDUCKGO, ({ body }) => {
      const page = body === "" ? 1 : Number(new URLSearchParams(body).get("s")) + 1;
      return [200, hit(`${page}a`) + hit(`${page}b`) + (page < 3 ? next(page) : "")];
    });
    const all = await bench.run(search, { query: "x", maxResults: 50 });
    const titles = (all["results"] as { url: string }[]).map(({ url }) => url.split("/").at(-1));
    expect(titles).toEqual(["1a", "1b", "2a", "2b", "3a", "3b"]);
    expect(asked.map(({ body }) => body)).toEqual([
      "",
      "q=a+%22b%22&s=1&vqd=4-1",
      "q=a+%22b%22&s=2&vqd=4-1",
    ]);
    const few = await bench.run(search, { query: "x", maxResults: 3 });
    expect(few["results"]).toHaveLength(3);
    expect(asked).toHaveLength(5);
  });

  test("nothing found is an empty list; the puzzle for people is a quota; a strange page is no answer", async () => {
    const pages: Record<string, [number, string]> = {
      none: [200, '<div class="no-results">No results.</div>'],
      puzzle: [202, "<html>"],
      modal: [
        200,
        '<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>',
      ],
      strange: [200, "<html>Welcome</html>"],
    };
    const { bench } = await withProvider(
      DUCKDUCKGO,
      ({ url }) => pages[url.searchParams.get("q") ?? ""] ?? [500, ""],
    );
    expect(await bench.run(search, { query: "none" })).toMatchObject({ results: [] });
    for (const query of ["puzzle", "modal"]) {
      expect(await bench.fault(search, { query })).toMatchObject({
        reason: "provider_quota",
        remedy: expect.stringContaining("searxng") as string,
      });
    }
    const strange = await bench.fault(search, { query: "strange" });
    expect(strange).toMatchObject({ reason: "upstream_unavailable" });
    const news = await bench.fault(search, { query: "none", categories: "news" });
    expect(news).toMatchObject({ code: "BAD_REQUEST", errors: [{ path: "/categories" }] });
  });
});

test("brave: key in its header, freshness in its words, pages of 20", async () => {
  const page = (count: number) =>
    Array.from({ length: count }, (_none, at) => ({
      title: `<strong>T${at}</strong>`,
      url: `https://example.org/${at}`,
      description: "d",
      page_age: "2026-01-01T00:00:00",
    }));
  const { bench, asked } = await withProvider(BRAVE, ({ url }) => [
    200,
    { web: { results: page(url.searchParams.get("offset") === "0" ? 20 : 5) } },
  ]);
  const answer = await bench.run(search, {
    query: "x",
    maxResults: 50,
    timeRange: "month",
    language: "en",
  });
  expect(answer["results"]).toHaveLength(25);
  expect(answer).toMatchObject({
    provider: "brave",
    results: [
      { rank: 1, title: "T0", published: "2026-01-01T00:00:00" },
      ...Array<unknown>(24).fill(expect.anything()),
    ],
  });
  expect(asked.map(({ url }) => url.href)).toEqual(
    ["0", "1"].map(
      (offset) =>
        `https://api.search.brave.com/res/v1/web/search?q=x&count=20&offset=${offset}&search_lang=en&freshness=pm`,
    ),
  );
  expect(asked[0]?.headers["x-subscription-token"]).toBe("brave-key");
});

test("tavily: a POST with a bearer key and the site as a domain", async () => {
  const { bench, asked } = await withProvider(TAVILY, () => [
    200,
    {
      results: [{ title: "T", url: "https://example.org/", content: "c", published_date: "today" }],
    },
  ]);
  expect(
    await bench.run(search, {
      query: "x",
      maxResults: 30,
      timeRange: "year",
      categories: "news",
      site: "example.org",
    }),
  ).toMatchObject({ provider: "tavily", results: [{ title: "T", snippet: "c" }] });
  expect(JSON.parse(asked[0]?.body ?? "")).toEqual({
    query: "x",
    max_results: 20,
    time_range: "year",
    topic: "news",
    include_domains: ["example.org"],
  });
  expect(asked[0]?.headers.authorization).toBe("Bearer tavily-key");
});

describe("what goes wrong has a name and a remedy", () => {
  test.each([
    [429, {}, "EXECUTION_FAILED", "provider_quota"],
    [402, {}, "EXECUTION_FAILED", "provider_quota"],
    [432, {}, "EXECUTION_FAILED", "provider_quota"],
    [401, {}, "UNAVAILABLE", "provider_not_configured"],
    [403, {}, "UNAVAILABLE", "provider_not_configured"],
    [500, {}, "EXECUTION_FAILED", "upstream_unavailable"],
    [200, "<html>", "EXECUTION_FAILED", "upstream_unavailable"],
  ])("%i %j is %s / %s", async (status, content, code, reason) => {
    for (const flags of [SEARXNG, BRAVE, TAVILY, DUCKDUCKGO]) {
      const { bench } = await withProvider(flags, () => [status, content]);
      const fault = await bench.fault(search, { query: "x" });
      expect(fault).toMatchObject({ code, reason, remedy: expect.any(String) });
      expect(JSON.stringify(fault)).not.toContain("-key");
      await bench.close();
      await open.web?.close();
      delete open.bench;
    }
  });

  test.each([
    [{ "search.provider": "searxng" }, "search.url"],
    [{ "search.provider": "brave" }, "search.apiKey"],
    [{ "search.provider": "tavily" }, "search.apiKey"],
    [{}, "OSTIARY_SEARCH_PROVIDER=duckduckgo"],
  ])("%j names the missing setting", async (flags, key) => {
    const { bench } = await withProvider(flags, () => [200, {}]);
    expect(await bench.fault(search, { query: "x" })).toMatchObject({
      code: "UNAVAILABLE",
      reason: "provider_not_configured",
      remedy: expect.stringContaining(key),
    });
  });

  test("a redirect elsewhere is not followed: the key is for this address", async () => {
    const { bench, web } = await withProvider(BRAVE, () => [200, {}]);
    await bench.close();
    delete open.bench;
    await web.close();
    open.web = await openWeb({
      hosts: ["api.search.brave.com"],
      answer: (_req, res) => (res.writeHead(302, { location: "https://example.org/" }).end(), true),
    });
    open.bench = await openBench({ flags: BRAVE, egress: open.web.egress });
    expect(await open.bench.fault(search, { query: "x" })).toMatchObject({
      reason: "too_many_redirects",
    });
    expect(open.web.seen).toHaveLength(1);
  });
});
