// /openapi.json, /docs and /docs/errors.
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../../src/server/api/index.ts";
import { CODES } from "../../src/contract/errors.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

interface Operation {
  operationId: string;
  summary: string;
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { content: Record<string, { schema: { properties: object; required: string[] } }> };
  responses: Record<string, { $ref?: string; content?: object }>;
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, object>; securitySchemes: Record<string, object> };
  security: object[];
}

describe("docs", () => {
  let app: StartedApp;
  let doc: Document;
  const get = (path: string) =>
    fetch(app.url + path, { headers: { authorization: `Bearer ${app.adminKey}` } });
  beforeAll(async () => {
    app = await startApp();
    doc = (await (await get("/openapi.json")).json()) as Document;
  });
  afterAll(() => app.close());

  test("R280: every endpoint is documented, with its schemas and errors", () => {
    expect(doc.openapi).toBe("3.1.0");
    expect(doc.security).toEqual([{ bearer: [] }]);
    const ids = new Set<string>();
    for (const e of endpoints) {
      const operation = doc.paths[`/api/v1${e.path}`]?.[e.method.toLowerCase()];
      expect(operation, e.name).toBeDefined();
      if (!operation) continue;
      ids.add(operation.operationId);
      expect(operation.summary.length).toBeGreaterThan(5);
      for (const [name] of e.path.matchAll(/\{\w+\}/g)) {
        const at = operation.parameters?.find((p) => `{${p.name}}` === name);
        expect(at, `${e.name} ${name}`).toMatchObject({ in: "path", required: true });
      }
      const statuses = Object.keys(operation.responses);
      expect(statuses).toEqual(expect.arrayContaining(["400", "401", "500", "503"]));
      expect(statuses.some((status) => status.startsWith("2"))).toBe(true);
      for (const { $ref } of Object.values(operation.responses)) {
        const name = $ref?.split("/").at(-1);
        if (name !== undefined) expect(doc.components.responses[name], name).toBeDefined();
      }
    }
    expect(ids.size).toBe(endpoints.length);
  });

  test("every schema is valid JSON Schema 2020-12 by itself", () => {
    const ajv = new Ajv2020({ strict: true, validateFormats: false, strictTypes: false });
    let schemas = 0;
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        if (key === "schema" && !("$ref" in (inner as object))) {
          ajv.compile(inner as object);
          schemas++;
        } else visit(inner);
      }
    };
    visit(doc);
    expect(schemas).toBeGreaterThan(60);
  });

  test("path fields are not repeated in bodies, headers are named", () => {
    const cancel = doc.paths["/api/v1/executions/{executionId}/cancel"]?.["post"];
    const schema = cancel?.requestBody?.content["application/json"]?.schema;
    expect(Object.keys(schema?.properties ?? {})).toEqual(["reason"]);
    const execute = doc.paths["/api/v1/executions"]?.["post"];
    expect(execute?.parameters).toContainEqual(
      expect.objectContaining({ name: "idempotency-key", in: "header" }),
    );
    const details = doc.paths["/api/v1/tools/{category}/{tool}"]?.["get"];
    expect(details?.parameters?.map((p) => p.name)).toEqual(["category", "tool"]);
  });

  test("/docs runs without inline script and from our own origin alone", async () => {
    const response = await get("/docs");
    expect(response.status).toBe(200);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self'(;|$)/);
    expect(policy).not.toMatch(/https?:/);
    const page = await response.text();
    expect(page).toContain('data-url="/openapi.json"');
    for (const [, body] of page.matchAll(/<script[^>]*>([^<]*)<\/script>/g)) expect(body).toBe("");
    const script = await get("/docs/scalar.js");
    expect(script.headers.get("content-type")).toContain("text/javascript");
    expect((await script.arrayBuffer()).byteLength).toBeGreaterThan(1_000_000);
  });

  test("/docs/errors has an anchor for every code", async () => {
    const page = await (await get("/docs/errors")).text();
    for (const [code, row] of Object.entries(CODES)) {
      expect(page).toContain(`id="${code}"`);
      for (const reason of row.reasons) expect(page).toContain(reason);
    }
  });

  test("a browser without a session is told how to sign in, with 401", async () => {
    const response = await fetch(`${app.url}/docs`, { headers: { accept: "text/html" } });
    expect(response.status).toBe(401);
    expect(response.headers.get("content-type")).toContain("text/html");
    expect(await response.text()).toContain("ostiary open");
  });
});
