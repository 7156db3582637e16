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
  name: "web/delete",
  description:
    "Make an HTTP DELETE request: remove what lives at the address. Returns status, headers and body. " +
    "A 4xx or 5xx answer is a result with ok:false.",
  input: z.strictObject({
    url: urlInput,
    query: queryInput,
    headers: headersInput,
    ...redirectInputs,
    maxBytes: maxBytesInput,
  }),
  output: answerOutput,
  risk: "dangerous",
  effects: "network",
  needs: ["fetch", "secrets"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  tags: ["web", "http"],
  examples: [{ url: "https://api.example.org/items/7.json" }],
  async run({ url, query, headers, followRedirects, maxRedirects, maxBytes }, powers, context) {
    const sealed = powers.secrets.seal(headers);
    const response = await powers["fetch"].request({
      url,
      method: "DELETE",
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
