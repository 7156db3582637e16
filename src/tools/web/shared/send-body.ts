// A request with a body: POST and PUT differ in their method only.
import { z } from "zod";
import { toolError, type ToolContext } from "../../../contract/tool.ts";
import type { ToolPowers } from "../../../contract/powers.ts";
import { answerOf, bodyOf, notesOf } from "../../../util/web-answer.ts";
import {
  bodyInputs,
  headersInput,
  maxBytesInput,
  redirectInputs,
  urlInput,
} from "./request-shapes.ts";

export const bodyRequestInput = z.strictObject({
  url: urlInput,
  ...bodyInputs,
  headers: headersInput,
  ...redirectInputs,
  maxBytes: maxBytesInput,
});

export async function sendBody(
  method: "POST" | "PUT",
  input: z.output<typeof bodyRequestInput>,
  powers: Pick<ToolPowers, "fetch" | "secrets">,
  context: Pick<ToolContext, "note">,
) {
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
    method,
    headers,
    followRedirects,
    maxRedirects,
    maxBytes,
    ...(body === undefined ? {} : { body }),
  });
  context.note(notesOf(response, response.body.length));
  return answerOf(response);
}
