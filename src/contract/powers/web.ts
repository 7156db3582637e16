import type { JsonObject } from "../call.ts";

/** HTTP through the egress guard: every address checked, every redirect checked again, sizes and times capped. */
export interface FetchPower {
  request(request: WebRequest): Promise<WebResponse>;
  /** The body as it comes; for files. */
  stream(request: WebRequest): Promise<WebHead & { readonly body: AsyncIterable<Uint8Array> }>;
  /** Readable text of a page or document, made inside the sandbox. */
  readable(
    response: WebResponse,
    options: { format: "markdown" | "text" | "html"; mainContentOnly: boolean },
  ): Promise<ReadableText>;
  /** The configured search provider; throws provider_not_configured. */
  search(query: WebQuery): Promise<{
    provider: string;
    results: { title: string; url: string; snippet: string; published?: string }[];
  }>;
}

export interface WebRequest {
  readonly url: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>> | SealedHeaders;
  readonly body?: string | Uint8Array;
  readonly query?: JsonObject;
  readonly followRedirects?: boolean;
  readonly maxRedirects?: number;
  /** More is cut (`truncated`), except in `stream`, where it is an error. */
  readonly maxBytes: number;
}

export interface WebHead {
  readonly status: number;
  readonly url: string;
  readonly finalUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly redirects: readonly string[];
  readonly elapsedMs: number;
}

export interface WebResponse extends WebHead {
  readonly body: Uint8Array;
  readonly truncated: boolean;
}

export interface ReadableText {
  readonly text: string;
  readonly title: string | null;
  readonly byline: string | null;
  readonly published: string | null;
  readonly language: string | null;
  readonly description: string | null;
  /** What it turned out to be. */
  readonly mime: string;
  readonly links: readonly { readonly text: string; readonly url: string }[];
}

export interface WebQuery {
  readonly query: string;
  readonly maxResults: number;
  readonly language?: string;
  readonly timeRange?: "day" | "week" | "month" | "year";
  readonly categories?: string;
  readonly site?: string;
}

/** Header values with secrets in them: only the fetch power can open it, and only towards the secret's own hosts. */
export interface SealedHeaders {
  readonly sealed: unique symbol;
}

export interface SecretsPower {
  /** Resolves `${secret:name}` in header values; without this power such a value is refused. */
  seal(headers: Readonly<Record<string, string>>): SealedHeaders;
}
