import { describe, expect, test } from "vitest";
import { PET_DOCUMENT, PET_DOCUMENT_YAML } from "../../../test/fixtures/pet-api.ts";
import { schemaErrors, schemaFault } from "../../util/schema/foreign-schema.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import { importOpenApi, type OpenApiOptions } from "./openapi.ts";

const imported = (document: unknown = PET_DOCUMENT, options: OpenApiOptions = {}) =>
  importOpenApi(JSON.stringify(document), options);
const minimal = (change: object) => ({ openapi: "3.1.0", info: {}, paths: {}, ...change });
const one = (operation: object, change: object = {}) =>
  minimal({ paths: { "/x": { get: operation } }, ...change });

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const cause: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(cause instanceof AppError)) throw new Error(`expected a fault, got ${String(cause)}`);
  expect(cause.fault).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_input" });
  expect(cause.fault.remedy).toBeTypeOf("string");
  return cause.fault;
}

describe("an OpenAPI document becomes definitions", () => {
  test("one for every operation that can be called, named as the document or the path names it", async () => {
    const { operations, title, url, notes } = await imported();
    expect(operations.map(({ name }) => name)).toEqual([
      "listPets",
      "createPet",
      "getPet",
      "pets_replace",
      "deletePet",
      "getPhoto",
      "placeOrder",
      "get_notes_year_slug",
      "writeNote",
    ]);
    expect([title, url]).toEqual(["Pets", "https://eu.pets.example/v1"]);
    for (const { inputSchema, method } of operations)
      expect([
        method,
        inputSchema["type"],
        inputSchema["additionalProperties"],
        schemaFault(inputSchema),
      ]).toEqual(["http", "object", false, null]);
    const told = notes.map(({ path, message }) => `${path} ${message}`).join("\n");
    expect(told).toContain(
      "/paths/~1pets~1{petId}~1photo/post/requestBody/content uploadPhoto is left out: a body of multipart/form-data",
    );
    expect(told).toContain("/paths/~1pets/get/parameters/4 the header X-Api-Key is left out");
    expect(told).toContain("the cookie session is left out");
    expect(told).toContain("/components/schemas/Pet refers to itself");
  });

  test("references are put in place; what only answers have is left out; 3.0 becomes 2020-12", async () => {
    const { operations } = await imported();
    const schemaOf = (name: string) =>
      operations.find((definition) => definition.name === name)?.inputSchema ?? {};
    expect(schemaOf("createPet")).toEqual({
      type: "object",
      properties: {
        body: {
          type: "object",
          required: ["name"],
          properties: {
            name: { type: "string" },
            nickname: { type: ["string", "null"] },
            owner: {
              anyOf: [
                {
                  allOf: [
                    {
                      type: "object",
                      properties: {
                        name: { type: "string" },
                        address: {
                          type: "object",
                          properties: {
                            city: { type: "string" },
                            zip: { type: "string", maxLength: 10 },
                          },
                        },
                      },
                    },
                  ],
                },
                { type: "null" },
              ],
            },
            children: { type: "array", items: {} },
          },
        },
      },
      required: ["body"],
      additionalProperties: false,
    });
    expect(schemaOf("getPet")).toMatchObject({
      properties: { petId: { type: "string", minLength: 1, description: "Which pet" } },
      required: ["petId"],
    });
    expect(schemaOf("listPets")).toMatchObject({
      properties: { limit: { type: "integer", exclusiveMinimum: 0, maximum: 100 } },
    });
    expect(schemaOf("get_notes_year_slug")).toMatchObject({
      properties: {
        slug: { type: "string" },
        query_slug: { type: ["string", "null"], enum: ["a", "b", null] },
      },
      required: ["year", "slug"],
    });
    expect(schemaErrors(schemaOf("createPet"), { body: { name: "Rex", owner: null } })).toEqual([]);
    expect(schemaErrors(schemaOf("createPet"), { body: { nickname: null } })).not.toEqual([]);
  });

  test("says how each is called, and what its method promises", async () => {
    const { operations } = await imported();
    const found = Object.fromEntries(operations.map((one) => [one.name, one]));
    expect(found["listPets"]?.operation).toMatchObject({
      method: "GET",
      path: "/pets",
      body: null,
      security: ["apiKey"],
      parameters: [
        {
          argument: "limit",
          name: "limit",
          in: "query",
          style: "form",
          explode: true,
          json: false,
        },
        { argument: "tags" },
        { argument: "filter", style: "deepObject" },
        { argument: "X-Request-Source", in: "header", style: "simple", explode: false },
      ],
    });
    expect(found["deletePet"]?.annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: true,
    });
    expect(found["listPets"]?.annotations).toMatchObject({
      readOnlyHint: true,
      destructiveHint: false,
    });
    expect(found["placeOrder"]?.operation).toMatchObject({
      body: { argument: "body", mediaType: "application/x-www-form-urlencoded" },
    });
    expect(found["writeNote"]?.description).toBe("Deprecated. PUT /notes/{year}/{slug}");
    expect(found["getPhoto"]?.operation).toMatchObject({ security: [] });
  });

  test("authorization becomes headers with references, of the schemes that are used", async () => {
    expect((await imported()).headers).toEqual({
      "X-Api-Key": "${credential:apiKey}",
      Authorization: "Bearer ${credential:oauth}",
    });
    expect((await imported(PET_DOCUMENT, { choose: ["getPhoto"] })).headers).toEqual({});
    const schemes = {
      q: { type: "apiKey", in: "query", name: "key" },
      c: { type: "apiKey", in: "cookie", name: "sid" },
      b: { type: "http", scheme: "basic" },
      odd: { type: "mutualTLS" },
    };
    const secured = (security: object[]) =>
      imported(one({ security }, { components: { securitySchemes: schemes } }));
    expect((await secured([{ odd: [] }, { q: [], c: [], b: [] }])).headers).toEqual({
      "query:key": "${credential:q}",
      Cookie: "sid=${credential:c}",
      Authorization: "Basic ${credential:b}",
    });
    const { notes, headers } = await secured([{ odd: [] }]);
    expect(headers).toEqual({});
    expect(notes.map(({ path }) => path)).toEqual([
      "/components/securitySchemes/odd",
      "/paths/~1x/get/security",
    ]);
  });

  test("YAML is read as well, and a relative address starts where the document was found", async () => {
    const { operations, url } = await importOpenApi(PET_DOCUMENT_YAML, {
      documentUrl: "https://notes.example/docs/openapi.yaml",
    });
    expect(operations[0]?.inputSchema).toMatchObject({
      properties: { id: { type: ["integer", "null"] } },
    });
    expect(url).toBe("https://notes.example/v2");
    expect((await importOpenApi(PET_DOCUMENT_YAML)).url).toBeNull();
  });

  test("schemas of answers only where somebody asks for them and they are small", async () => {
    const of = async (options: OpenApiOptions) =>
      Object.fromEntries(
        (await imported(PET_DOCUMENT, options)).operations.map((each) => [
          each.name,
          each.outputSchema,
        ]),
      );
    expect(Object.values(await of({})).every((schema) => schema === null)).toBe(true);
    const simple = one({
      responses: {
        200: json({
          type: "object",
          properties: { secret: { writeOnly: true }, at: { type: "string" } },
        }),
      },
    });
    const [found] = (await imported(simple, { outputs: true })).operations;
    expect(found?.outputSchema).toEqual({
      type: "object",
      properties: {
        status: { type: "integer" },
        body: { type: "object", properties: { at: { type: "string" } } },
      },
      required: ["status", "body"],
    });
    // A pet refers to itself: half a schema would be a promise nobody made.
    expect((await of({ outputs: true }))["getPet"]).toBeNull();
  });

  test("what an administrator wants of the answers is part of the definition", async () => {
    const { operations } = await imported(PET_DOCUMENT, {
      choose: ["listPets"],
      shape: { listPets: { select: ["/*/name"], maxItems: 5 } },
    });
    expect(operations[0]?.operation).toMatchObject({ select: ["/*/name"], maxItems: 5 });
    expect((await faultOf(imported(PET_DOCUMENT, { shape: { nope: {} } }))).errors?.[0]?.path).toBe(
      "/shape/nope",
    );
  });
});

const json = (schema: object) => ({ content: { "application/json": { schema } } });

describe("the choice of operations", () => {
  const names = async (...choose: string[]) =>
    (await imported(PET_DOCUMENT, { choose })).operations.map(({ name }) => name);

  test("by id, tag, method and path; any is enough, + means both, ! means not", async () => {
    expect(await names("getPet", "tag:store")).toEqual([
      "getPet",
      "placeOrder",
      "get_notes_year_slug",
      "writeNote",
    ]);
    expect(await names("tag:pets+method:get")).toEqual(["listPets", "getPet"]);
    expect(await names("!method:get", "!method:delete")).toEqual([
      "createPet",
      "pets_replace",
      "placeOrder",
      "writeNote",
    ]);
    expect(await names("path:/pets", "!tag:photos", "!pets.replace")).toEqual([
      "listPets",
      "createPet",
      "getPet",
      "deletePet",
    ]);
  });

  test("a term that fits nothing is a slip of the pen", async () => {
    const fault = await faultOf(names("getPat"));
    expect(fault).toMatchObject({ errors: [{ path: "/choose" }], remedy: "did you mean getPet?" });
    expect((await faultOf(names("!tag:pet"))).remedy).toBe("did you mean tag:pets?");
  });
});

describe("what cannot be taken is refused with its place", () => {
  test.each([
    ["{", "", "not valid JSON"],
    ["a: [", "", "not valid YAML"],
    ["just text", "", "got no object"],
    [JSON.stringify({ swagger: "2.0" }), "/swagger", "Swagger 2.0"],
    [JSON.stringify({ openapi: "4.0.0" }), "/openapi", '"4.0.0"'],
    [JSON.stringify({ openapi: "3.0.0" }), "/paths", "expected an object"],
    [JSON.stringify(minimal({})), "/paths", "no operation"],
    ["x".repeat(5_242_881), "", "5242880 bytes"],
    [
      JSON.stringify(one({ parameters: [{ name: "a", in: "body" }] })),
      "/paths/~1x/get/parameters/0/in",
      "expected path, query or header",
    ],
    [
      JSON.stringify(one({ parameters: [{ $ref: "https://evil.example/p.json" }] })),
      "/paths/~1x/get/parameters/0/$ref",
      "only references within the document",
    ],
    [
      JSON.stringify(one({ parameters: [{ $ref: "#/nowhere" }] })),
      "/paths/~1x/get/parameters/0/$ref",
      "not there",
    ],
    [
      JSON.stringify(one({ servers: [{ url: "http://169.254.169.254" }] })),
      "/paths/~1x/get/servers",
      "lives elsewhere",
    ],
    [
      JSON.stringify(minimal({ paths: { "/a/{id}": { get: {} } } })),
      "/paths/~1a~1{id}/get/parameters",
      "no parameter says what it is",
    ],
    [
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]`,
      "",
      "not usable YAML",
    ],
  ])("%#", async (text, path, message) => {
    const fault = await faultOf(importOpenApi(text));
    expect(fault.errors?.[0]?.path).toBe(path);
    expect(fault.message).toContain(message);
  });

  test("paths that lead elsewhere, and more operations than anybody can look at", async () => {
    const paths = Object.fromEntries(
      ["/ok", "/a/../b", "/a/%2e%2E/b", "/a?x=1", "//x y", "/a/{b", "relative"].map((path) => [
        path,
        { get: {} },
      ]),
    );
    const { operations, notes } = await imported(minimal({ paths }));
    expect(operations.map(({ name }) => name)).toEqual(["get_ok"]);
    expect(notes).toHaveLength(6);
    const many = Object.fromEntries(
      Array.from({ length: 1_001 }, (_, index) => [`/p${index}`, { get: {} }]),
    );
    expect((await faultOf(imported(minimal({ paths: many })))).message).toContain(
      "at most 1000 operations",
    );
  });

  test("a schema that grows without end is cut, and fits what may be approved", async () => {
    const schemas: Record<string, object> = { S0: { type: "string" } };
    for (let at = 1; at < 30; at++)
      schemas[`S${at}`] = {
        type: "object",
        properties: {
          a: { $ref: `#/components/schemas/S${at - 1}` },
          b: { $ref: `#/components/schemas/S${at - 1}` },
        },
      };
    const wide = one(
      { requestBody: json({ $ref: "#/components/schemas/S29" }) },
      { components: { schemas } },
    );
    const { operations, notes } = await imported(wide);
    expect(schemaFault(operations[0]?.inputSchema ?? {})).toBeNull();
    expect(notes.length).toBeGreaterThan(0);
    expect(notes.length).toBeLessThanOrEqual(200);
  });

  test("many operations with large schemas are refused as a whole, and others get their turn meanwhile", async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 400 }, (_, at) => [
        `field${at}`,
        { type: "string", description: "x".repeat(200) },
      ]),
    );
    const operation = { requestBody: json({ $ref: "#/components/schemas/Big" }) };
    const paths = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`/p${at}`, { post: operation }]),
    );
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    const fault = await faultOf(
      imported(
        minimal({ paths, components: { schemas: { Big: { type: "object", properties } } } }),
      ),
    );
    clearInterval(ticking);
    expect(fault.errors?.[0]?.path).toBe("/choose");
    expect(turns).toBeGreaterThan(0);
  });

  test("two operations never share a name, nor take one that is reserved", async () => {
    const ids = ["get-it", "get_it", "GET_IT", "resources_read", "", "Grüße!"];
    const paths = Object.fromEntries(
      ids.map((operationId, at) => [`/p${at}`, { get: { operationId } }]),
    );
    const { operations } = await imported(minimal({ paths }));
    expect(operations.map(({ name }) => name)).toEqual([
      "get-it",
      "get_p1",
      "get_p2",
      "get_p3",
      "get_p4",
      "Gr_e",
    ]);
  });
});
