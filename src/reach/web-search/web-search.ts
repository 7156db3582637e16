// The port to web search: one question, one provider, chosen in the configuration.
import { z } from "zod";
import { AppError } from "../../contract/errors.ts";

export const PROVIDERS = ["none", "duckduckgo", "searxng", "brave", "tavily"] as const;

export const searchConfig = {
  provider: z.enum(PROVIDERS).default("none"),
  url: z
    .string()
    .regex(/^https?:\/\/\S+$/, "expected an http:// or https:// address")
    .optional(),
  apiKey: z.string().min(1).max(512).optional(),
};

export interface SearchSettings {
  readonly provider: (typeof PROVIDERS)[number];
  readonly url?: string | undefined;
  readonly apiKey?: string | undefined;
}

export interface SearchQuestion {
  readonly query: string;
  readonly maxResults: number;
  readonly language?: string;
  readonly timeRange?: "day" | "week" | "month" | "year";
  readonly categories?: string;
  readonly site?: string;
}

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  readonly published?: string;
}

/** One exchange with the provider, through the egress guard. */
export type SendRequest = (request: {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}) => Promise<{ readonly status: number; readonly text: string }>;

export interface SearchProvider {
  readonly name: string;
  search(question: SearchQuestion, ask: SendRequest): Promise<SearchHit[]>;
}

/** Null when none is configured. */
export async function openSearch(settings: SearchSettings): Promise<SearchProvider | null> {
  const { url, apiKey } = settings;
  switch (settings.provider) {
    case "none":
      return null;
    case "duckduckgo":
      return (await import("./duckduckgo.ts")).duckduckgo(url);
    case "searxng":
      return (await import("./searxng.ts")).searxng(needed(url, "searxng", "search.url"));
    case "brave":
      return (await import("./brave.ts")).brave(url, needed(apiKey, "brave", "search.apiKey"));
    case "tavily":
      return (await import("./tavily.ts")).tavily(url, needed(apiKey, "tavily", "search.apiKey"));
  }
}

function needed(value: string | undefined, provider: string, key: string): string {
  if (value === undefined)
    throw new AppError(
      "UNAVAILABLE",
      "provider_not_configured",
      `search.provider is ${provider}, but ${key} is missing`,
      { remedy: `set ${key}` },
    );
  return value;
}

/** The parsed answer of a provider, or why there is none. */
export function answerOf(provider: string, answer: Awaited<ReturnType<SendRequest>>): unknown {
  const text = usable(provider, answer);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw unusable(provider, answer.status);
  }
}

/** The text of a good answer, or why there is none. */
export function usable(
  provider: string,
  { status, text }: Awaited<ReturnType<SendRequest>>,
): string {
  if (status >= 200 && status < 300) return text;
  if (status === 402 || status === 429 || status === 432 || status === 433) {
    const message = `the search provider ${provider} says that its quota is used up (${status})`;
    throw new AppError("EXECUTION_FAILED", "provider_quota", message, {
      remedy: MORE[provider] ?? "wait, or raise the plan at the provider",
    });
  }
  if (status === 401 || status === 403) {
    const message = `the search provider ${provider} refused our credential (${status})`;
    throw new AppError("UNAVAILABLE", "provider_not_configured", message, {
      remedy: LET_IN[provider] ?? "check search.apiKey",
    });
  }
  throw unusable(provider, status);
}

const OWN_INSTANCE =
  "set search.provider to searxng with search.url, or to brave or tavily with search.apiKey";
const MORE: Readonly<Record<string, string>> = {
  duckduckgo: `wait some minutes; for more, ${OWN_INSTANCE}`,
};
const LET_IN: Readonly<Record<string, string>> = {
  searxng: "enable the format json in the settings of SearXNG",
  duckduckgo: OWN_INSTANCE,
};

function unusable(provider: string, status: number): AppError {
  const message = `the search provider ${provider} gave no usable answer (${status})`;
  return new AppError("EXECUTION_FAILED", "upstream_unavailable", message, {
    remedy: "try again later",
  });
}

type Fields = Readonly<Record<string, unknown>>;

/** The list at a path of an answer; empty where there is none. */
export function listAt(answer: unknown, ...path: string[]): Fields[] {
  let value = answer;
  for (const step of path) value = isFields(value) ? value[step] : undefined;
  return Array.isArray(value) ? value.filter(isFields) : [];
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;

/** A hit from what providers call its parts; null without a web address. */
export function hitOf(
  fields: Fields,
  names: { snippet: string; published: string },
): SearchHit | null {
  const url = textOf(fields["url"]);
  if (!/^https?:\/\//i.test(url)) return null;
  const published = textOf(fields[names.published]);
  return {
    title: textOf(fields["title"]),
    url,
    snippet: textOf(fields[names.snippet]),
    ...(published === "" ? {} : { published }),
  };
}

const TEXT_LIMIT = 2_000;

/** Plain text: providers mark hits with tags. */
function textOf(value: unknown): string {
  return typeof value === "string"
    ? value.replace(/<\/?(strong|b|em|mark|span)>/gi, "").slice(0, TEXT_LIMIT)
    : "";
}

export function withSite({ query, site }: SearchQuestion): string {
  return site === undefined ? query : `${query} site:${site}`;
}
