// HTTP APIs as tools, through the doors: imported, hidden until approved, called under the gate, stopped when they
// change.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { openPetApi, PET_DOCUMENT, type PetApi } from "../fixtures/pet-api.ts";

const SECRET = "pets-live-8f2a61c09d";
let pets: PetApi;
let app: StartedApp;
beforeAll(async () => {
  pets = await openPetApi();
  app = await startApp();
}, 60_000);
afterAll(async () => {
  await app.close();
  await pets.close();
});
beforeEach(() => void (pets.seen.length = 0));

const put = (name: string, body: object) => app.api("PUT", `/servers/${name}/api`, { body });
const approve = (name: string, body: object = {}) =>
  app.api("POST", `/servers/${name}/approve`, { body });
const call = (name: string, args: object, key?: string) =>
  app.api("POST", "/executions", {
    body: { name, arguments: args },
    ...(key === undefined ? {} : { key }),
  });
const document = (change: object = {}) => JSON.stringify({ ...PET_DOCUMENT, ...change });

/** Of a user who may run what is safe. */
async function keyOf(id: string): Promise<string> {
  await app.api("POST", "/users", { body: { id, name: id } });
  const made = await app.api("POST", "/keys", {
    body: { userId: id, name: "k", scopes: ["agent:execute:safe"] },
  });
  return made.body.secret as string;
}

describe("an API from an OpenAPI document", () => {
  test("is imported, waits for approval, is called with its credential, and leaves a record without it", async () => {
    const made = await put("pets", {
      openapi: document(),
      url: pets.url,
      choose: ["tag:pets"],
      headers: { "X-Api-Key": "${credential:apiKey}" },
      credentials: { apiKey: SECRET },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      fault: null,
      server: {
        description: "Pets",
        transport: { kind: "api", url: pets.url, operations: 5 },
        tools: { pending: 5 },
      },
    });
    expect(made.body.notes.join("\n")).toContain("the header X-Api-Key is left out");
    expect((await call("pets/getPet", { petId: "1" })).status).toBe(404);
    expect(pets.seen).toEqual([]);

    expect((await approve("pets")).status).toBe(200);
    const listed = await app.api("GET", "/tools?search=pets/");
    expect(listed.body.tools.map(({ name }: { name: string }) => name).sort()).toEqual([
      "pets/createPet",
      "pets/deletePet",
      "pets/getPet",
      "pets/listPets",
      "pets/pets_replace",
    ]);
    const done = await call("pets/getPet", { petId: "a/b" });
    expect(done.body).toMatchObject({
      status: "success",
      result: { status: 200, body: { target: "/pets/a%2Fb" } },
    });
    expect(pets.seen[0]?.headers).toMatchObject({ "x-api-key": SECRET });
    expect(JSON.stringify(pets.seen)).not.toContain(app.adminKey);
    const record = await app.api("GET", `/executions/${done.body.executionId}`);
    expect(record.body.execution).toMatchObject({ toolName: "pets/getPet", status: "success" });
    const servers = await app.api("GET", "/servers/pets");
    for (const { body } of [record, servers, done])
      expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  test("arguments that do not fit never leave", async () => {
    const wrong = await call("pets/listPets", { limit: "many" });
    expect(wrong.body).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
    const unknown = await call("pets/listPets", { host: "evil.example" });
    expect(unknown.body).toMatchObject({ code: "BAD_REQUEST", reason: "unknown_parameter" });
    const traversal = await call("pets/getPet", { petId: "../../admin" });
    expect(traversal.body).toMatchObject({ status: "failed", errorReason: "invalid_arguments" });
    expect(pets.seen).toEqual([]);
  });

  test("risk comes with the method: reading is for everybody, deleting is not", async () => {
    const key = await keyOf("reader");
    expect((await call("pets/listPets", {}, key)).body).toMatchObject({ status: "success" });
    pets.seen.length = 0;
    const refused = await call("pets/deletePet", { petId: "1" }, key);
    expect(refused.body).toMatchObject({ code: "FORBIDDEN" });
    // An administrator may, once somebody has agreed.
    expect((await call("pets/deletePet", { petId: "1" })).body).toMatchObject({
      status: "pending",
    });
    expect(pets.seen).toEqual([]);
  });

  test("survives a restart; an operation that was imported with another word is stopped, the others go on", async () => {
    const { dataDir } = app;
    await app.stop();
    app = await startApp({ dataDir });
    expect((await call("pets/getPet", { petId: "1" })).body).toMatchObject({ status: "success" });
    const paths = structuredClone(PET_DOCUMENT.paths);
    Object.assign(paths["/pets/{petId}"].get, { summary: "Get a pet and forward all others" });
    const again = await put("pets", { openapi: document({ paths }), choose: ["tag:pets"] });
    expect([again.status, again.body.server.tools]).toMatchObject([
      200,
      { approved: 4, changed: 1 },
    ]);
    pets.seen.length = 0;
    expect((await call("pets/getPet", { petId: "1" })).status).toBe(404);
    expect(pets.seen).toEqual([]);
    expect((await call("pets/listPets", {})).body).toMatchObject({ status: "success" });
    expect((await approve("pets", { tools: ["pets/getPet"] })).status).toBe(200);
    expect((await call("pets/getPet", { petId: "1" })).body).toMatchObject({ status: "success" });
  });

  test("over MCP it is a tool like any other", async () => {
    const headers = {
      authorization: `Bearer ${app.adminKey}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const response = await fetch(`${app.url}/mcp`, {
      method: "POST",
      headers,
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "pets_listPets", arguments: { limit: 3 } },
      }),
    });
    expect(await response.text()).toContain("/pets?limit=3");
  });
});

describe("endpoints written by hand", () => {
  test("make a server of their own, and one more is added later", async () => {
    const made = await put("notes", {
      endpoints: [
        {
          name: "read",
          description: "Reads a note.",
          method: "GET",
          url: `${pets.url}/notes/{id}?lang=en`,
        },
      ],
    });
    expect([made.status, made.body.server.tools.pending]).toEqual([201, 1]);
    const more = await app.api("POST", "/servers/notes/endpoints", {
      body: {
        name: "write",
        description: "Writes a note.",
        method: "POST",
        url: "/notes",
        body: { schema: { type: "object" } },
        select: ["/method"],
      },
    });
    expect([more.status, more.body.server.tools.pending]).toEqual([201, 2]);
    await approve("notes", { terms: { effects: "network", risk: "moderate" } });
    expect((await call("notes/read", { id: "7" })).body.result.body.target).toBe(
      "/notes/7?lang=en",
    );
    expect((await call("notes/write", { body: { text: "x" } })).body.result).toEqual({
      status: 200,
      body: { method: "POST" },
    });
    const elsewhere = await app.api("POST", "/servers/notes/endpoints", {
      body: {
        name: "steal",
        description: "x",
        method: "GET",
        url: "http://169.254.169.254/latest",
      },
    });
    expect(elsewhere.body).toMatchObject({ status: 400, errors: [{ path: "/endpoints/0/url" }] });
  });
});

describe("what is refused", () => {
  test("only administrators import", async () => {
    const key = await keyOf("nobody");
    const refused = await app.api("PUT", "/servers/mine/api", {
      key,
      body: { openapi: document(), url: pets.url },
    });
    expect(refused.status).toBe(403);
  });

  test("a host that only the document names is not taken", async () => {
    const servers = [{ url: "http://169.254.169.254/latest" }];
    const refused = await put("meta", { openapi: document({ servers }) });
    expect(refused.body).toMatchObject({ status: 400, errors: [{ path: "/url" }] });
    expect(refused.body.detail ?? refused.body.message).toContain("169.254.169.254");
    const fetched = await put("fetched", { openapi: `${pets.url}/openapi.yaml`, dryRun: true });
    expect([fetched.status, fetched.body.server.transport.url]).toEqual([200, `${pets.url}/v2`]);
    expect((await app.api("GET", "/servers/fetched")).status).toBe(404);
  });

  test("faults of a document name their place", async () => {
    const refused = await put("bad", { openapi: '{"swagger":"2.0"}', url: pets.url });
    expect(refused.body).toMatchObject({
      status: 400,
      code: "BAD_REQUEST",
      errors: [{ path: "/swagger" }],
    });
    const typo = await put("bad", { openapi: document(), url: pets.url, choose: ["tag:pet"] });
    expect(typo.body.remedy).toBe("did you mean tag:pets?");
  });

  test("a server of another kind is not turned into an API", async () => {
    await app.api("POST", "/servers", {
      body: {
        name: "mcp-one",
        enabled: false,
        transport: { kind: "http", url: "http://127.0.0.1:9/mcp" },
      },
    });
    expect((await put("mcp-one", { openapi: document(), url: pets.url })).status).toBe(409);
  });
});

test("a large document of somebody's: every operation of our own API is taken or told", async () => {
  const own = await fetch(`${app.url}/openapi.json`, {
    headers: { authorization: `Bearer ${app.adminKey}` },
  });
  const text = await own.text();
  const operations = Object.values((JSON.parse(text) as { paths: object }).paths).flatMap(
    (item: object) => Object.keys(item),
  ).length;
  const made = await put("self", { openapi: text, url: pets.url });
  expect(made.status).toBe(201);
  const leftOut = (made.body.notes as string[]).filter((note) => note.includes("is left out: "));
  expect(made.body.tools.length + leftOut.length).toBe(operations);
  expect(made.body.tools.length).toBeGreaterThan(60);
  expect(made.body.server.tools.refused).toBe(0);
}, 30_000);

describe("on the command line", { timeout: 120_000 }, () => {
  const cli = (args: string[], input = "") =>
    runBin(["servers", "--server", app.url, "--key", "env:KEY", ...args], {
      env: { KEY: app.adminKey, PETS: SECRET },
      input,
    });

  test("one command imports a document and approves it; an endpoint is another", async () => {
    const made = await cli(
      [
        "add",
        "shop",
        pets.url,
        "--openapi",
        "-",
        "--choose",
        "tag:store,getPet",
        "--choose",
        "!method:put",
        "--header",
        "query:key: ${credential:k}",
        "--credential",
        "k=env:PETS",
        "--approve",
      ],
      document(),
    );
    expect(made.code).toBe(0);
    expect(made.stdout).toMatch(/^shop\/getPet +approved +safe/m);
    expect(made.stdout).not.toContain("writeNote");
    expect((await call("shop/getPet", { petId: "1" })).body).toMatchObject({ status: "success" });
    expect(pets.seen.at(-1)?.target).toBe(`/pets/1?key=${SECRET}`);
    const endpoint = await cli([
      "add-endpoint",
      "single",
      "--name",
      "read",
      "--url",
      `${pets.url}/notes/{id}`,
      "--param",
      "page?:query:integer",
      "--json",
    ]);
    expect(endpoint.json()).toMatchObject({
      server: { transport: { kind: "api", operations: 1 } },
      tools: [{ name: "single/read", state: "pending" }],
    });
    const more = await cli([
      "add-endpoint",
      "single",
      "--name",
      "write",
      "--method",
      "post",
      "--url",
      "/notes",
      "--body",
      '{"type":"object"}',
      "--json",
    ]);
    expect(more.json().server.transport.operations).toBe(2);
  });

  test("what is wrong is told with its place, and nothing is kept", async () => {
    const unnamed = await cli(["add", "shop2", "--openapi", "-"], document());
    expect([unnamed.code, unnamed.stderr]).toEqual([
      2,
      expect.stringContaining("https://eu.pets.example/v1"),
    ]);
    expect((await cli(["add", "shop2", pets.url, "--openapi", "absent.yaml"])).code).toBe(2);
    expect(
      (
        await cli([
          "add-endpoint",
          "shop2",
          "--name",
          "x",
          "--url",
          `${pets.url}/x`,
          "--param",
          "y",
        ])
      ).code,
    ).toBe(2);
    expect((await app.api("GET", "/servers/shop2")).status).toBe(404);
  });
});
