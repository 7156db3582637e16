// OpenAPI 3.1, rendered from the endpoint definitions; its schemas are JSON Schema 2020-12 as zod writes it.
import type { Json, JsonObject } from "../contract/call.ts";
import { CODES, type Code } from "../contract/errors.ts";
import { type AnyEndpoint, schemaOf } from "./api/endpoint.ts";
import { endpoints } from "./api/index.ts";

export function openapiDocument(info: { version: string; baseUrl: string }): JsonObject {
  const paths: Record<string, Record<string, Json>> = {};
  for (const e of endpoints) {
    (paths[`/api/v1${e.path}`] ??= {})[e.method.toLowerCase()] = operation(e);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Ostiary",
      version: info.version,
      description: "Discovers, decides, executes and records every tool call.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: info.baseUrl }],
    security: [{ bearer: [] }],
    tags: [...new Set(endpoints.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key of Ostiary" },
      },
      schemas: { Problem: PROBLEM },
      responses: Object.fromEntries(
        Object.entries(CODES).map(([code, row]) => [
          code,
          problemResponse(code as Code, row.title),
        ]),
      ),
    },
  };
}

const tagOf = (e: AnyEndpoint): string => e.name.split(".")[0] ?? e.name;

function operation(e: AnyEndpoint): JsonObject {
  const schema = schemaOf(e.input, "input");
  const properties = (schema["properties"] ?? {}) as Record<string, JsonObject>;
  const required = (schema["required"] ?? []) as string[];
  const inPath = [...e.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
  // Fields that the path fills, by their own name or through `fromPath`.
  const filled = e.fromPath
    ? Object.keys(e.fromPath(Object.fromEntries(inPath.map((name) => [name, name]))))
    : inPath;
  const parameters: Json[] = inPath.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: properties[name] ?? { type: "string" },
  }));
  for (const [header, field] of Object.entries(e.fromHeaders ?? {})) {
    parameters.push({ name: header, in: "header", schema: properties[field] ?? {} });
  }
  const rest = Object.entries(properties).filter(([name]) => !filled.includes(name));
  const needed = required.filter((name) => !filled.includes(name));
  const inQuery = e.method === "GET" || e.method === "DELETE";
  if (inQuery) {
    for (const [name, property] of rest) {
      const list = property["type"] === "array" ? { style: "form", explode: false } : {};
      const must = needed.includes(name) ? { required: true } : {};
      parameters.push({ name, in: "query", schema: property, ...must, ...list });
    }
  }
  const body = { ...schema, properties: Object.fromEntries(rest), required: needed };
  return {
    operationId: e.name.split(".").at(-1) ?? e.name,
    tags: [tagOf(e)],
    summary: e.summary,
    ...(e.access === "admin" ? { description: "Administrators only." } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(!inQuery && rest.length > 0
      ? {
          requestBody: {
            required: needed.length > 0,
            content: { "application/json": { schema: body } },
          },
        }
      : {}),
    responses: { ...successes(e), ...faults(e, inQuery) },
  };
}

const REQUEST_ID = { description: "Id of this request", schema: { type: "string" } };

function successes(e: AnyEndpoint): Record<string, Json> {
  if ("stream" in e) {
    const content = { "text/event-stream": { schema: { type: "string" } } };
    return { "200": { description: "A stream of events", content } };
  }
  if ("download" in e) {
    const content = { [e.contentType]: { schema: { type: "string" } } };
    return { "200": { description: "A file", headers: { "Request-Id": REQUEST_ID }, content } };
  }
  const schema = schemaOf(e.output, "output");
  return Object.fromEntries(
    e.statuses.map((status) => [
      String(status),
      {
        description: { 200: "Done", 201: "Created", 202: "Accepted" }[status],
        headers: {
          "Request-Id": REQUEST_ID,
          ...(status === 200 ? {} : { Location: { schema: { type: "string" } } }),
        },
        content: { "application/json": { schema } },
      },
    ]),
  );
}

/** Which codes an endpoint may answer with, from its shape. */
function faults(e: AnyEndpoint, inQuery: boolean): Record<string, Json> {
  const changes = e.method !== "GET";
  const runs = e.name === "tools.executeTool";
  const codes: Code[] = [
    "BAD_REQUEST",
    "UNAUTHORIZED",
    ...(e.access === "admin" || changes ? (["FORBIDDEN"] as const) : []),
    ...(e.path.includes("{") || runs || e.name.startsWith("explain")
      ? (["NOT_FOUND"] as const)
      : []),
    ...(changes ? (["CONFLICT"] as const) : []),
    ...(inQuery ? [] : (["PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"] as const)),
    ...(runs ? (["BUDGET_EXHAUSTED", "UNPROCESSABLE"] as const) : []),
    "TOO_MANY_REQUESTS",
    "INTERNAL_SERVER_ERROR",
    "UNAVAILABLE",
  ];
  const ref = (code: Code): JsonObject => ({ $ref: `#/components/responses/${code}` });
  return Object.fromEntries(codes.map((code) => [String(CODES[code].http), ref(code)]));
}

function problemResponse(code: Code, title: string): JsonObject {
  const retry = CODES[code].retryable ? { "Retry-After": { schema: { type: "integer" } } } : {};
  return {
    description: title,
    headers: { "Request-Id": REQUEST_ID, ...retry },
    content: {
      "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
    },
  };
}

const text = { type: "string" };

const PROBLEM: JsonObject = {
  type: "object",
  description: "RFC 9457 problem details",
  required: [
    "type",
    "title",
    "status",
    "detail",
    "instance",
    "code",
    "reason",
    "request_id",
    "doc_url",
  ],
  properties: {
    type: { type: "string", format: "uri" },
    title: text,
    status: { type: "integer" },
    detail: text,
    instance: text,
    code: { type: "string", enum: Object.keys(CODES) },
    reason: { type: "string", description: "Lower-case slug that says why" },
    remedy: { type: "string", description: "What to do about it" },
    request_id: text,
    execution_id: text,
    gates: { type: "array", items: { type: "object" } },
    errors: {
      type: "array",
      items: {
        type: "object",
        required: ["path", "message"],
        properties: { path: text, message: text, suggestion: text },
      },
    },
    doc_url: { type: "string", format: "uri" },
    explain_url: { type: "string", format: "uri" },
  },
};
