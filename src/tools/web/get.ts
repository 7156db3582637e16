import { z } from "zod";
import { answerOf, notesOf } from "../../util/web-answer.ts";
import {
  answerOutput,
  headersInput,
  maxBytesInput,
  queryInput,
  redirectInputs,
  urlInput,
} from "./shared/request-shapes.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "web/get",
  description:
    "Make an HTTP GET request and return status, headers and body as they are: parsed JSON, text, or base64. " +
    "For APIs and raw files; to read a page as an article use web/fetch. A 4xx or 5xx answer is a result with ok:false.",
  input: z.strictObject({
    url: urlInput,
    query: queryInput,
    headers: headersInput,
    ...redirectInputs,
    maxBytes: maxBytesInput,
  }),
  output: answerOutput,
  risk: "safe",
  effects: "network",
  needs: ["fetch", "secrets"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  idempotent: true,
  aliases: ["http_request", "web/request", "web_request", "http_fetch", "url_fetch"],
  tags: ["web", "http"],
  examples: [
    { url: "https://api.example.org/items.json", query: { page: 2 } },
    { url: "https://example.org/robots.txt" },
  ],
  async run({ url, query, headers, followRedirects, maxRedirects, maxBytes }, powers, context) {
    const sealed = powers.secrets.seal(headers);
    const response = await powers["fetch"].request({
      url,
      method: "GET",
      query,
      headers: sealed,
      followRedirects,
      maxRedirects,
      maxBytes,
    });
    context.note(notesOf(response, response.body.length));
    return answerOf(response);
  },
});
