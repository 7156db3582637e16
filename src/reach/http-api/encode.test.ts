import { existsSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCorpus } from "../../../test/corpora/corpus.ts";
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Operation, Parameter } from "./operation.ts";
import { buildRequest } from "./request.ts";

const BASE = "https://api.example.org/v1";
const parameter = (change: Partial<Parameter>): Parameter => ({
  argument: "p",
  name: "p",
  in: "query",
  style: "form",
  explode: true,
  json: false,
  ...change,
});
const operation = (change: Partial<Operation>): Operation => ({
  method: "GET",
  path: "/x",
  query: [],
  parameters: [],
  body: null,
  security: [],
  select: null,
  maxItems: null,
  ...change,
});
const built = (
  change: Partial<Operation>,
  args: JsonObject,
  headers: Record<string, string> = {},
) => buildRequest(BASE, headers, operation(change), args);
const targetOf = (change: Partial<Operation>, args: JsonObject): string =>
  built(change, args).url.slice(BASE.length);

const LIST = ["blue", "black"];
const OBJECT = { R: 100, G: 200 };

describe("every style of OpenAPI", () => {
  test.each([
    ["path", "simple", false, 5, "/5"],
    ["path", "simple", false, LIST, "/blue,black"],
    ["path", "simple", false, OBJECT, "/R,100,G,200"],
    ["path", "simple", true, OBJECT, "/R=100,G=200"],
    ["path", "label", false, 5, "/.5"],
    ["path", "label", false, LIST, "/.blue,black"],
    ["path", "label", true, LIST, "/.blue.black"],
    ["path", "label", true, OBJECT, "/.R=100.G=200"],
    ["path", "matrix", false, 5, "/;p=5"],
    ["path", "matrix", false, LIST, "/;p=blue,black"],
    ["path", "matrix", true, LIST, "/;p=blue;p=black"],
    ["path", "matrix", true, OBJECT, "/;R=100;G=200"],
    ["path", "matrix", false, OBJECT, "/;p=R,100,G,200"],
    ["query", "form", true, true, "?p=true"],
    ["query", "form", true, "", "?p="],
    ["query", "form", true, LIST, "?p=blue&p=black"],
    ["query", "form", false, LIST, "?p=blue,black"],
    ["query", "form", false, ["a,b", "c&d"], "?p=a%2Cb,c%26d"],
    ["query", "form", true, OBJECT, "?R=100&G=200"],
    ["query", "form", false, OBJECT, "?p=R,100,G,200"],
    ["query", "spaceDelimited", false, LIST, "?p=blue%20black"],
    ["query", "pipeDelimited", false, LIST, "?p=blue%7Cblack"],
    ["query", "deepObject", true, OBJECT, "?p%5BR%5D=100&p%5BG%5D=200"],
    [
      "query",
      "deepObject",
      true,
      { a: { b: ["x", "y"] }, n: null },
      "?p%5Ba%5D%5Bb%5D%5B%5D=x&p%5Ba%5D%5Bb%5D%5B%5D=y",
    ],
  ] as const)("%s %s explode=%s %j is %s", (place, style, explode, value, expected) => {
    const path = place === "path" ? "/{p}" : "/x";
    const target = targetOf(
      { path, parameters: [parameter({ in: place, style, explode })] },
      { p: value },
    );
    expect(target).toBe(place === "path" ? expected : `/x${expected}`);
  });

  test("JSON in a parameter, fixed pairs of the query, and what is null or absent", () => {
    expect(targetOf({ parameters: [parameter({ json: true })] }, { p: { a: [1] } })).toBe(
      "/x?p=%7B%22a%22%3A%5B1%5D%7D",
    );
    expect(targetOf({ query: [["lang", "de&x"]], parameters: [parameter({})] }, { p: null })).toBe(
      "/x?lang=de%26x",
    );
  });

  test("headers: lists and objects on one line", () => {
    const header = (explode: boolean) => [
      parameter({ in: "header", name: "X-Colors", style: "simple", explode }),
    ];
    expect(built({ parameters: header(false) }, { p: LIST }).headers["x-colors"]).toBe(
      "blue,black",
    );
    expect(built({ parameters: header(true) }, { p: OBJECT }).headers["x-colors"]).toBe(
      "R=100,G=200",
    );
  });

  test("bodies: JSON, forms and text", () => {
    const body = (mediaType: string, value: Json) =>
      built({ method: "POST", body: { argument: "body", mediaType } }, { body: value });
    expect(body("application/vnd.api+json", { a: 1 })).toMatchObject({
      body: '{"a":1}',
      headers: { "content-type": "application/vnd.api+json" },
    });
    expect(
      body("application/x-www-form-urlencoded", { a: "1 2", b: ["x", "y"], c: { d: 1 }, n: null })
        .body,
    ).toBe("a=1+2&b=x&b=y&c=%7B%22d%22%3A1%7D");
    expect(body("text/plain", "as it is").body).toBe("as it is");
    expect(() => body("text/plain", { a: 1 })).toThrow("is sent as text");
    expect(() => body("application/json", "x".repeat(1_048_577))).toThrow("at most 1048576");
    expect(
      built({ method: "POST", body: { argument: "body", mediaType: "application/json" } }, {}),
    ).toMatchObject({ body: undefined });
  });
});

const inPath = (value: string) =>
  targetOf(
    {
      path: "/pets/{p}/toys",
      parameters: [parameter({ in: "path", style: "simple", explode: false })],
    },
    { p: value },
  );

describe("arguments stay in their place", () => {
  test.each([
    ".",
    "..",
    "../admin",
    "a/../../b",
    "..\\admin",
    "%2e%2e",
    "%252e%252e%252fadmin",
    "..;/admin",
    "..;x",
    "a/%2E./b",
    "．．/admin",
    "‥",
    "%c0%ae%c0%ae/",
    "",
    "a\u0000b",
    "a\r\nHost: x",
    "\ud800",
  ])("a path refuses %j", (value) => {
    expect(() => inPath(value)).toThrow(AppError);
  });

  test.each([
    ["a/b", "a%2Fb"],
    ["?x=1#y", "%3Fx%3D1%23y"],
    ["@evil.example", "%40evil.example"],
    ["//evil.example", "%2F%2Fevil.example"],
    ["https://169.254.169.254/", "https%3A%2F%2F169.254.169.254%2F"],
    ["...", "..."],
    ["a..b", "a..b"],
    ["ü 1", "%C3%BC%201"],
  ])("a path encodes %j", (value, expected) => {
    expect(inPath(value)).toBe(`/pets/${expected}/toys`);
  });

  test("a missing part of the path is named", () => {
    expect(() =>
      targetOf({ path: "/{p}", parameters: [parameter({ in: "path", style: "simple" })] }, {}),
    ).toThrow("p is part of the path and missing");
  });

  test("free keys of an object do not pose as other parameters or as the server's credential", () => {
    const parameters = [parameter({}), parameter({ argument: "q", name: "q" })];
    expect(() => built({ parameters }, { p: { q: "1" } })).toThrow("parameter of its own");
    expect(() => built({ parameters }, { p: { key: "1" } }, { "query:key": "s3cret" })).toThrow(
      "parameter of its own",
    );
    expect(() =>
      built(
        { parameters: [parameter({ argument: "k", name: "key" })] },
        { k: "mine" },
        { "query:key": "s3cret" },
      ),
    ).toThrow("own credential");
    expect(built({ parameters }, { q: "x" }, { "query:key": "a&b=c" }).url).toBe(
      `${BASE}/x?q=x&key=a%26b%3Dc`,
    );
  });

  test.each([
    "Host",
    "Authorization",
    "Cookie",
    "X-Api-Key",
    "X-Auth-Token",
    "Transfer-Encoding",
    "Connection",
    "Content-Length",
    "Proxy-Authorization",
    "X-Forwarded-For",
    "bad name",
  ])("no argument becomes the header %s", (name) => {
    const parameters = [parameter({ in: "header", name, style: "simple" })];
    expect(() => built({ parameters }, { p: "x" })).toThrow(
      expect.objectContaining({
        fault: expect.objectContaining({
          code: "FORBIDDEN",
          reason: "header_forbidden",
        }) as unknown,
      }) as Error,
    );
  });

  test("nor one that the server sets itself, nor a second line", () => {
    const parameters = [parameter({ in: "header", name: "X-Region", style: "simple" })];
    expect(() => built({ parameters }, { p: "us" }, { "x-region": "eu" })).toThrow(
      "is set by the server itself",
    );
    for (const value of ["a\r\nX-Admin: 1", "a\u0000", "ü"])
      expect(() => built({ parameters }, { p: value })).toThrow("no header may hold");
  });

  test("whatever is put in, the address decodes to exactly that and never leaves its template", () => {
    const parameters = [
      parameter({ argument: "id", name: "id", in: "path", style: "simple", explode: false }),
      parameter({ argument: "q", name: "q" }),
      parameter({ argument: "d", name: "d", style: "deepObject" }),
    ];
    const text = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "binary" }),
      fc.constantFrom("..", "/", "\\", "%2e", "@", "#", "?", "//evil/", "\t", "http://[::1]/"),
    );
    const mixed = fc.array(text, { maxLength: 4 }).map((parts) => parts.join(""));
    let refusals = 0;
    let runs = 0;
    fc.assert(
      fc.property(mixed, mixed, mixed, (id, q, d) => {
        runs++;
        let url: URL;
        try {
          url = new URL(built({ path: "/pets/{id}/toys", parameters }, { id, q, d: { k: d } }).url);
        } catch (cause) {
          if (!(cause instanceof AppError)) throw cause;
          refusals++;
          return;
        }
        expect([url.protocol, url.host, url.hash, url.username]).toEqual([
          "https:",
          "api.example.org",
          "",
          "",
        ]);
        const steps = url.pathname.split("/");
        expect(steps).toHaveLength(5);
        expect([steps[1], steps[2], steps[4], decodeURIComponent(steps[3] ?? "")]).toEqual([
          "v1",
          "pets",
          "toys",
          id,
        ]);
        expect([...url.searchParams]).toEqual([
          ["q", q],
          ["d[k]", d],
        ]);
      }),
      { numRuns: 300 },
    );
    // Refusing everything would hold as well.
    expect(refusals).toBeLessThan(runs * 0.9);
  });
});

const CORPORA = join(import.meta.dirname, "../../../../shared/corpora");
const list = (file: string): string[] =>
  existsSync(join(CORPORA, file)) ? readCorpus(join(CORPORA, file)) : [];

describe.each(["ssrf/ssrf.txt", "traversal/traversal.txt", "url/urltestdata.json"])(
  "given lists: %s",
  (file) => {
    test.skipIf(list(file).length === 0)(
      "no line as a path or a query value changes host or path",
      () => {
        const parameters = [
          parameter({ argument: "id", name: "id", in: "path", style: "simple", explode: false }),
          parameter({ argument: "q", name: "q" }),
        ];
        const lines = list(file);
        const escaped: string[] = [];
        let reached = 0;
        for (const line of lines) {
          const query = line.isWellFormed()
            ? new URL(built({ parameters: parameters.slice(1) }, { q: line }).url)
            : null;
          if (
            query &&
            (query.host !== "api.example.org" ||
              query.pathname !== "/v1/x" ||
              query.searchParams.get("q") !== line)
          )
            escaped.push(line);
          try {
            const url = new URL(built({ path: "/pets/{id}", parameters }, { id: line }).url);
            const [, ...steps] = url.pathname.split("/");
            if (
              url.host !== "api.example.org" ||
              steps.length !== 3 ||
              steps[1] !== "pets" ||
              decodeURIComponent(steps[2] ?? "") !== line
            )
              escaped.push(line);
            reached++;
          } catch (cause) {
            if (!(cause instanceof AppError)) throw cause;
          }
        }
        expect(escaped).toEqual([]);
        if (file !== "traversal/traversal.txt") expect(reached).toBeGreaterThan(lines.length / 4);
      },
    );
  },
);
