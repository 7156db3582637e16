// HTTP APIs as upstream servers: an OpenAPI document or endpoints written by hand become tools that wait for approval.
import { z } from "zod";
import type { ApiEndpoint } from "../../reach/http-api/endpoint.ts";
import { endpoint } from "./endpoint.ts";
import { serverName, settingsInput, tried, triedShown } from "./servers/shapes.ts";
import { jsonObject } from "./shapes.ts";

const url = z.string().min(1).max(2_000);
const shape = {
  select: z
    .array(z.string().min(1).max(500))
    .min(1)
    .max(100)
    .optional()
    .describe("JSON pointers, * for every entry: all that is handed on of an answer"),
  maxItems: z.int().min(1).max(100_000).optional().describe("Of every list the first so many"),
};
const word = z.string().min(1).max(200);
const single = {
  name: z.string().min(1).max(64),
  description: z.string().trim().min(1).max(2_000),
  method: z.string().min(1).max(10),
  url: url.describe(
    "https://host/things/{id}?page={page}, or the part of it behind the server's address",
  ),
  parameters: z
    .array(
      z.strictObject({
        name: word,
        in: z.enum(["path", "query", "header"]),
        description: z.string().max(1_000).optional(),
        required: z.boolean().optional(),
        schema: jsonObject.optional(),
      }),
    )
    .max(100)
    .optional()
    .describe("Placeholders that are not listed are texts and required"),
  body: z
    .strictObject({
      mediaType: word.optional(),
      required: z.boolean().optional(),
      schema: jsonObject.optional(),
    })
    .optional(),
  ...shape,
};

export const importApi = endpoint({
  name: "servers.importApi",
  method: "PUT",
  path: "/servers/{name}/api",
  access: "admin",
  summary:
    "Make an HTTP API a server, or import it anew; its operations wait for approval as tools",
  statuses: [200, 201],
  input: z.strictObject({
    name: serverName,
    openapi: z
      .string()
      .min(1)
      .optional()
      .describe("An OpenAPI 3 document, JSON or YAML, or the address it is fetched from"),
    endpoints: z
      .array(z.strictObject(single))
      .min(1)
      .max(1_000)
      .optional()
      .describe("Instead of a document"),
    url: url.optional().describe("Where the API lives; no other host is reached"),
    choose: z
      .array(z.string().min(1).max(300))
      .max(1_000)
      .optional()
      .describe("operationId, tag:…, method:…, path:…; a+b both, !a not; left out: all"),
    shape: z
      .record(z.string().max(64), z.strictObject(shape))
      .optional()
      .describe("By operation: what is handed on of its answers"),
    outputs: z
      .boolean()
      .default(false)
      .describe("Also the schemas of answers; one that does not fit is refused then"),
    headers: z
      .record(z.string().min(1).max(128), z.string().max(8_192))
      .optional()
      .describe(
        "Sent with every request; ${credential:NAME} for secrets, query:NAME for the address",
      ),
    credentials: z
      .record(z.string().min(1).max(64), z.string().min(1).max(16_384))
      .optional()
      .describe("Values for ${credential:NAME}; sealed at once, never shown again"),
    description: z.string().trim().max(500).optional(),
    settings: settingsInput.optional(),
    dryRun: z.boolean().default(false).describe("Reads the source, keeps nothing"),
  }),
  output: tried,
  async run({ name, ...given }, { caller, doors, reply, signal }) {
    const made = await doors.apis.put(
      caller,
      name,
      { ...given, endpoints: given.endpoints as ApiEndpoint[] | undefined },
      signal,
    );
    if (made.isNew && !given.dryRun) {
      reply.status = 201;
      reply.headers["Location"] = `/api/v1/servers/${name}`;
    }
    return triedShown(made);
  },
});

export const addApiEndpoint = endpoint({
  name: "servers.addApiEndpoint",
  method: "POST",
  path: "/servers/{server}/endpoints",
  access: "admin",
  summary: "Add a single endpoint to an API, or replace the one of that name",
  statuses: [201],
  input: z.strictObject({ server: serverName, ...single }),
  output: tried,
  async run({ server, ...given }, { caller, doors, signal }) {
    // It came as JSON, so every part of its schemas is.
    return triedShown(await doors.apis.addEndpoint(caller, server, given as ApiEndpoint, signal));
  },
});
