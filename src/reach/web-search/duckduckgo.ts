// DuckDuckGo's page for browsers without scripts: no key, about ten hits a page, and it limits how often it is asked.
import { AppError } from "../../contract/errors.ts";
import {
  type SendRequest,
  hitOf,
  type SearchHit,
  type SearchProvider,
  type SearchQuestion,
  usable,
  withSite,
} from "./web-search.ts";

const ADDRESS = "https://html.duckduckgo.com/html/";
const FRESHNESS = { day: "d", week: "w", month: "m", year: "y" } as const;
const NAMES = { snippet: "snippet", published: "published" };
const MAX_PAGES = 5;
/** Languages whose region does not have the same name. */
const REGIONS: Readonly<Record<string, string>> = {
  cs: "cz-cs",
  da: "dk-da",
  el: "gr-el",
  en: "us-en",
  he: "il-he",
  ja: "jp-jp",
  ko: "kr-kr",
  sv: "se-sv",
  uk: "ua-uk",
  zh: "cn-zh",
};

export function duckduckgo(address: string | undefined): SearchProvider {
  const base = address ?? ADDRESS;
  return {
    name: "duckduckgo",
    async search(question, ask) {
      const hits: SearchHit[] = [];
      let fields: URLSearchParams | null = fieldsOf(question);
      for (let page = 0; page < MAX_PAGES && fields && hits.length < question.maxResults; page++) {
        const text = await pageOf(ask, base, fields, page === 0);
        hits.push(...hitsIn(text));
        fields = nextIn(text);
      }
      return hits.slice(0, question.maxResults);
    },
  };
}

function fieldsOf(question: SearchQuestion): URLSearchParams {
  const { language, timeRange, categories } = question;
  if (categories !== undefined && categories !== "general") {
    const message = "categories: DuckDuckGo's page has web pages only";
    const remedy = "leave categories out";
    throw new AppError("BAD_REQUEST", "invalid_arguments", message, {
      remedy,
      errors: [{ path: "/categories", message, suggestion: remedy }],
    });
  }
  const fields = new URLSearchParams({ q: withSite(question) });
  if (language !== undefined) fields.set("kl", regionOf(language));
  if (timeRange !== undefined) fields.set("df", FRESHNESS[timeRange]);
  return fields;
}

/** `de-AT` is `at-de` there. */
function regionOf(language: string): string {
  const [tongue = "", country] = language.toLowerCase().split(/[-_]/);
  if (country !== undefined) return `${country}-${tongue}`;
  return REGIONS[tongue] ?? `${tongue}-${tongue}`;
}

/** The first page is asked for by its address, further ones with the form at the end of the page before. */
async function pageOf(
  ask: SendRequest,
  base: string,
  fields: URLSearchParams,
  isFirst: boolean,
): Promise<string> {
  const headers = { accept: "text/html" };
  const url = new URL(base);
  if (isFirst) {
    for (const [name, value] of fields) url.searchParams.set(name, value);
    return textOf(await ask({ url: url.href, method: "GET", headers }));
  }
  const form = { ...headers, "content-type": "application/x-www-form-urlencoded" };
  return textOf(
    await ask({ url: url.href, method: "POST", headers: form, body: fields.toString() }),
  );
}

function textOf(answer: Awaited<ReturnType<SendRequest>>): string {
  // Who asks too often gets 202 and a puzzle for people.
  const isPuzzle = answer.status === 202 || answer.text.includes("anomaly-modal");
  const text = usable("duckduckgo", isPuzzle ? { ...answer, status: 429 } : answer);
  if (text.includes("result__a") || text.includes("no-results")) return text;
  throw new AppError(
    "EXECUTION_FAILED",
    "upstream_unavailable",
    "the search provider duckduckgo answered with a page that holds no results",
    { remedy: "try again later, or set search.provider to searxng with search.url" },
  );
}

const LINK = 'class="result__a"';
const SNIPPET = 'class="result__snippet"';

function hitsIn(page: string): SearchHit[] {
  const parts = page.split(LINK);
  return parts.slice(1).flatMap((part, at) => {
    // What stands before the link in its own tag belongs to the part before.
    const opening =
      (parts[at] ?? "").slice((parts[at] ?? "").lastIndexOf("<")) +
      part.slice(0, part.indexOf(">"));
    const url = targetOf(attribute(opening, "href"));
    const [, snippet = ""] = part.split(SNIPPET, 2);
    const fields = { url, title: plain(part), snippet: plain(snippet) };
    const hit = url === null ? null : hitOf(fields, NAMES);
    return hit ? [hit] : [];
  });
}

/** Links lead through DuckDuckGo (`/l/?uddg=…`); advertisements (`/y.js?…`) are no hits. */
function targetOf(href: string): string | null {
  const url = URL.parse(href, "https://duckduckgo.com");
  if (!url || !/(^|\.)duckduckgo\.com$/.test(url.hostname)) return url?.href ?? null;
  return url.pathname === "/l/" ? url.searchParams.get("uddg") : null;
}

/** The fields of the form that leads to the next page; null on the last one. */
function nextIn(page: string): URLSearchParams | null {
  const form = page
    .split("<form")
    .slice(1)
    .map((part) => part.split("</form", 1)[0] ?? "")
    .find((part) => /\bvalue=["']Next["']/.test(part));
  if (form === undefined) return null;
  const fields = new URLSearchParams();
  for (const tag of form.split("<input").slice(1)) {
    const opening = tag.split(">", 1)[0] ?? "";
    const name = attribute(opening, "name");
    if (name !== "") fields.set(name, attribute(opening, "value"));
  }
  return fields.has("q") ? fields : null;
}

function attribute(tag: string, name: string): string {
  const [, double, single] = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)')`).exec(tag) ?? [];
  return decoded(double ?? single ?? "");
}

/** The text between the end of an opening tag and `</a>`, without tags. */
function plain(part: string): string {
  const inner = part.slice(part.indexOf(">") + 1).split("</a>", 1)[0] ?? "";
  return decoded(inner.replace(/<[^>]*>/g, ""))
    .replace(/\s+/g, " ")
    .trim();
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
};

function decoded(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,6}));/gi,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
