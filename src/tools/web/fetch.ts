import { z } from "zod";
import { mimeOf, notesOf } from "../../util/web-answer.ts";
import { headersInput, redirectInputs, urlInput } from "./shared/request-shapes.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_BYTES = 10_485_760;
const MAX_LINKS = 200;
/** A page with less text than this and a script is rendered by the script. */
const NEARLY_EMPTY = 40;

export default defineTool({
  name: "web/fetch",
  description:
    "Read a web page or document (HTML, PDF, Word, text) as clean markdown, without navigation and advertising. " +
    "Long texts come in parts: when truncated is true, call again with offset = nextOffset. " +
    "For raw answers and APIs use web/get; for pages that need a browser use browser/open.",
  input: z.strictObject({
    url: urlInput,
    format: z
      .enum(["markdown", "text", "html"])
      .default("markdown")
      .describe("How the content is written."),
    mainContentOnly: z
      .boolean()
      .default(true)
      .describe("Only the article; false keeps the whole page."),
    links: z.boolean().default(true).describe("Also list the links of the page."),
    offset: z.int().min(0).default(0).describe("First character to return, from 0."),
    maxChars: z.int().min(1).max(200_000).default(20_000).describe("Most characters to return."),
    headers: headersInput,
    ...redirectInputs,
  }),
  output: z.strictObject({
    url: z.string(),
    finalUrl: z.string().describe("The address that answered, after redirects."),
    status: z.int(),
    title: z.string().nullable(),
    byline: z.string().optional(),
    published: z.string().optional(),
    language: z.string().optional(),
    description: z.string().optional(),
    format: z.enum(["markdown", "text", "html"]),
    content: z.string(),
    chars: z.int().describe("Characters of the whole content."),
    truncated: z.boolean().describe("True when there is more than was returned."),
    nextOffset: z.int().optional().describe("The offset to continue with."),
    links: z.array(z.strictObject({ text: z.string(), url: z.string() })).optional(),
    mime: z.string(),
    fetchedAt: z.string().describe("ISO 8601."),
  }),
  risk: "moderate",
  effects: "network",
  sandbox: "net",
  needs: ["fetch", "secrets", "clock"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  idempotent: true,
  cacheable: true,
  aliases: ["fetch_url"],
  tags: ["web", "read"],
  examples: [
    { url: "https://example.org/articles/doors" },
    { url: "https://example.org/articles/doors", format: "text", offset: 10, maxChars: 50 },
  ],
  async run(input, powers, context) {
    const { url, format, mainContentOnly, offset, maxChars, followRedirects, maxRedirects } = input;
    const headers = powers.secrets.seal({
      accept: "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8",
      ...input.headers,
    });
    const web = powers["fetch"];
    const response = await web.request({
      url,
      method: "GET",
      headers,
      followRedirects,
      maxRedirects,
      maxBytes: MAX_BYTES,
    });
    context.note(notesOf(response, response.body.length));
    const page = await web.readable(response, { format, mainContentOnly });
    const text = page.text.toWellFormed();
    requireContent(text, page.mime, response);
    const content = cut(text, offset, maxChars);
    const end = offset + content.length;
    return {
      url: response.url,
      finalUrl: response.finalUrl,
      status: response.status,
      title: page.title,
      ...given({
        byline: page.byline,
        published: page.published,
        language: page.language,
        description: page.description,
      }),
      format,
      content,
      chars: text.length,
      truncated: end < text.length || response.truncated,
      ...(end < text.length ? { nextOffset: end } : {}),
      ...(input.links
        ? {
            links: page.links
              .slice(0, MAX_LINKS)
              .map((link) => ({ text: link.text, url: link.url })),
          }
        : {}),
      mime: page.mime,
      fetchedAt: new Date(powers.clock.now()).toISOString(),
    };
  },
});

function requireContent(
  text: string,
  mime: string,
  {
    status,
    body,
    headers,
  }: { status: number; body: Uint8Array; headers: Readonly<Record<string, string>> },
): void {
  const isPage = mime === "text/html" || mimeOf(headers["content-type"] ?? null).includes("html");
  if (!isPage || status >= 400 || text.trim().length >= NEARLY_EMPTY) return;
  if (!/<script[\s>]/i.test(new TextDecoder().decode(body))) return;
  throw toolError(
    "needs_script",
    "the page is empty without a browser: a script makes its content",
    { remedy: "use browser/open, then browser/extract" },
  );
}

/** Never within a character. */
function cut(text: string, offset: number, maxChars: number): string {
  const end = offset + maxChars;
  const splits = end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1));
  return text.slice(offset, splits && maxChars > 1 ? end - 1 : end).toWellFormed();
}

function given<K extends string>(fields: Record<K, string | null>): Partial<Record<K, string>> {
  const entries = Object.entries<string | null>(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as Partial<Record<K, string>>;
}
