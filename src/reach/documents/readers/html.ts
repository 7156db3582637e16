// Pages: the article, or all that is visible, as Markdown, text or plain HTML.
import { Defuddle } from "defuddle/node";
import { parseHTML } from "linkedom";
import type { DocumentInput, DocumentLink, ReadDocument } from "../documents.ts";
import { unreadable } from "../fault.ts";

const MAX_LINKS = 1_000;
/** The time of the parsers grows with the square of it. */
const MAX_DEPTH = 3_000;
/** Need no closing tag, or have none. */
const OPEN_ENDED = new Set(
  "area base body br col colgroup dd dt embed head hr html img input li link meta option p param source tbody td tfoot th thead tr track wbr".split(
    " ",
  ),
);
/** Nothing is fetched: inside the sandbox there is no network, and the extractors of single sites stay off. */
const OFFLINE = { useAsync: false, fetch: () => Promise.reject(new Error("no network")) } as const;
const WHOLE = {
  contentSelector: "body",
  removeExactSelectors: false,
  removePartialSelectors: false,
  removeLowScoring: false,
  removeContentPatterns: false,
  removeSmallImages: false,
} as const;

/** The part of a parsed page that is used here. */
interface TreeNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly childNodes: ArrayLike<TreeNode>;
}
interface Body extends TreeNode {
  querySelectorAll(
    query: string,
  ): ArrayLike<TreeNode & { getAttribute(name: string): string | null }>;
}

const parse = parseHTML as unknown as (html: string) => {
  readonly document: { readonly body: Body };
};

type Page = Pick<DocumentInput, "format" | "mainContentOnly" | "url">;

export async function readHtml(html: string, page: Page, mime: string): Promise<ReadDocument> {
  if (depthOf(html) > MAX_DEPTH) throw tooDeep();
  try {
    const article = page.mainContentOnly ? await extract(html, page, {}) : null;
    // A page without an article (a list, a form) is read whole.
    const found =
      article !== null && article.content.trim() !== ""
        ? article
        : await extract(html, page, WHOLE);
    const plain = page.format === "html" ? found.content : null;
    const content =
      page.format === "markdown"
        ? (await extract(html, page, { ...(found === article ? {} : WHOLE), markdown: true }))
            .content
        : plain;
    const body = bodyOf(found.content);
    return {
      text: (content ?? textFrom(body)).trim(),
      title: found.title || null,
      byline: found.author || null,
      published: found.published || null,
      language: found.language || null,
      description: found.description || null,
      links: linksIn(body, page.url),
      mime,
    };
  } catch (cause) {
    // The parsers recurse.
    if (cause instanceof RangeError) throw tooDeep();
    throw cause;
  }
}

const tooDeep = () => unreadable("page: it is nested too deeply");

/** The deepest nesting, estimated from the tags without parsing them. */
function depthOf(html: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [tag, closing, name = ""] of html.matchAll(
    /<(\/?)([a-z][a-z0-9]{0,20})[^<>]{0,2000}>?/gi,
  )) {
    if (OPEN_ENDED.has(name.toLowerCase()) || tag.endsWith("/>")) continue;
    depth = closing === "/" ? Math.max(0, depth - 1) : depth + 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

async function extract(html: string, { url }: Page, options: object) {
  const { document } = parse(
    /<html[\s>]/i.test(html)
      ? html
      : `<!doctype html><html><head></head><body>${html}</body></html>`,
  );
  return Defuddle(document, url ?? "", { ...OFFLINE, ...options });
}

const bodyOf = (content: string): Body =>
  parse(`<!doctype html><html><body>${content}</body></html>`).document.body;

function linksIn(body: Body, base: string | undefined): DocumentLink[] {
  const links = new Map<string, DocumentLink>();
  for (const anchor of Array.from(body.querySelectorAll("a[href]"))) {
    const url = URL.parse(anchor.getAttribute("href") ?? "", base);
    if (url === null || !/^(?:https?|mailto):$/.test(url.protocol)) continue;
    const text = (anchor.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 500);
    if (!links.has(url.href)) links.set(url.href, { text, url: url.href });
    if (links.size >= MAX_LINKS) break;
  }
  return [...links.values()];
}

const BLOCKS = new Set(
  "ADDRESS ARTICLE ASIDE BLOCKQUOTE DD DETAILS DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION TABLE TR UL".split(
    " ",
  ),
);
const SILENT = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "HEAD"]);
const TEXT_NODE = 3;

/** One line per block, cells apart by tabs, preformatted text as it is. */
function textFrom(root: TreeNode): string {
  const parts: string[] = [];
  const visit = (node: TreeNode, kept: boolean): void => {
    if (node.nodeType === TEXT_NODE) {
      const text = node.textContent ?? "";
      parts.push(kept ? text : text.replace(/\s+/g, " "));
      return;
    }
    const name = node.nodeName.toUpperCase();
    if (SILENT.has(name)) return;
    if (name === "BR") parts.push("\n");
    const block = BLOCKS.has(name);
    if (block) parts.push("\n");
    for (const child of Array.from(node.childNodes)) visit(child, kept || name === "PRE");
    if (name === "TD" || name === "TH") parts.push("\t");
    if (block) parts.push("\n");
  };
  visit(root, false);
  return parts
    .join("")
    .replace(/[ \t]+\n/g, "\n")
    .replace(/\n /g, "\n")
    .replace(/\n{3,}/g, "\n\n");
}
