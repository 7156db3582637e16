// What inputs and outputs of the web tools have in common. Schemas only: each tool composes its own from these.
import { z } from "zod";

const MAX_BODY = 10_485_760;
const scalar = z.union([z.string().max(8_192), z.number(), z.boolean()]);

export const urlInput = z
  .string()
  .min(1)
  .max(8_192)
  .describe("Address to call, https://host/path. No user or password in it.");

export const headersInput = z
  .record(z.string().max(128), z.string().max(8_192))
  .meta({ maxProperties: 50 })
  .default({})
  .describe(
    "Request headers. Credentials only by reference, e.g. Authorization: Bearer ${secret:name}.",
  );

export const redirectInputs = {
  followRedirects: z.boolean().default(true).describe("Follow redirects; each one is checked."),
  maxRedirects: z.int().min(0).max(10).default(5).describe("Most redirects to follow."),
};

export const queryInput = z
  .record(z.string().max(256), z.union([scalar, z.array(scalar).max(100)]))
  .meta({ maxProperties: 100 })
  .default({})
  .describe("Query parameters, added to those in the url. A list is repeated.");

export const maxBytesInput = z
  .int()
  .min(1)
  .max(10_485_760)
  .default(1_048_576)
  .describe("Most bytes of the answer to return, after decompression.");

export const bodyInputs = {
  body: z
    .union([
      z.string().max(MAX_BODY),
      z.record(z.string().max(1_024), z.unknown()).meta({ maxProperties: 10_000 }),
    ])
    .optional()
    .describe("What is sent: text as it is, or an object, written as contentType says."),
  contentType: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x20-\x7e]+$/)
    .default("application/json")
    .describe(
      "Media type of the body; application/x-www-form-urlencoded takes an object of texts.",
    ),
  idempotencyKey: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[\x21-\x7e]+$/)
    .optional()
    .describe("Sent as Idempotency-Key, so that the server does the same thing only once."),
};

export const answerOutput = z.strictObject({
  ok: z.boolean().describe("True for a status from 200 to 299."),
  status: z.int(),
  url: z.string().describe("The address that was asked for."),
  finalUrl: z.string().describe("The address that answered, after redirects."),
  headers: z.record(z.string(), z.string()).meta({ maxProperties: 1_000 }),
  contentType: z.string().nullable(),
  json: z.unknown().optional().describe("The body, when it is JSON and whole."),
  text: z.string().optional().describe("The body, when it is other text."),
  base64: z.string().optional().describe("The body, when it is not text."),
  bytes: z.int().describe("Bytes of the body that were taken."),
  truncated: z.boolean().describe("True when the answer was longer than maxBytes."),
  redirects: z.array(z.string()).describe("Addresses of the redirects that were followed."),
  elapsedMs: z.int(),
});
