import { z } from "zod";
import { answerOf, bodyOf, notesOf } from "../../util/web-answer.ts";
import {
  answerOutput,
  bodyInputs,
  headersInput,
  maxBytesInput,
  redirectInputs,
  urlInput,
} from "./shared/request-shapes.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "web/put",
  description:
    "Make an HTTP PUT request: create or replace what lives at the address. Returns status, headers and body. " +
    "A 4xx or 5xx answer is a result with ok:false. The body may have 1 MiB.",
  input: z.strictObject({
    url: urlInput,
    ...bodyInputs,
    headers: headersInput,
    ...redirectInputs,
    maxBytes: maxBytesInput,
  }),
  output: answerOutput,
  risk: "moderate",
  effects: "network",
  needs: ["fetch", "secrets"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  tags: ["web", "http"],
  examples: [{ url: "https://api.example.org/items/7.json", body: { name: "table" } }],
  async run(input, powers, context) {
    const { url, contentType, idempotencyKey, followRedirects, maxRedirects, maxBytes } = input;
    const body = bodyOf(input.body, contentType);
    if (body === null) {
      const message = `an object cannot be written as ${contentType}`;
      throw toolError("invalid_arguments", message, {
        code: "BAD_REQUEST",
        remedy: "give the body as text, or use application/json",
        errors: [{ path: "/body", message }],
      });
    }
    const headers = powers.secrets.seal({
      ...(body === undefined ? {} : { "content-type": contentType }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      ...input.headers,
    });
    const response = await powers["fetch"].request({
      url,
      method: "PUT",
      headers,
      followRedirects,
      maxRedirects,
      maxBytes,
      ...(body === undefined ? {} : { body }),
    });
    context.note(notesOf(response, response.body.length));
    return answerOf(response);
  },
});
