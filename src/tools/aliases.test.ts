import { expect, test } from "vitest";
import { AppError } from "../contract/errors.ts";
import { translate } from "./aliases.ts";

const faultOf = (name: string, given: Parameters<typeof translate>[1]) => {
  try {
    translate(name, given);
  } catch (cause) {
    if (cause instanceof AppError) return cause.fault;
  }
  throw new Error("expected a fault");
};

test("most names mean themselves, and their arguments are the same object", () => {
  const given = { path: "a", max_size_mb: 1 };
  expect(translate("file/read", given).arguments).toBe(given);
  expect(translate("constructor", given)).toEqual({ name: "constructor", arguments: given });
});

test("a foreign parameter becomes ours", () => {
  expect(translate("read_file", { path: "a", max_size_mb: 0.5 }).arguments).toEqual({
    path: "a",
    maxBytes: 524_288,
  });
  expect(translate("doc_parser", { attachment_id: "x" }).arguments).toEqual({ attachmentId: "x" });
  expect(translate("read", { max_size_mb: "big" }).arguments).toEqual({ maxBytes: "big" });
});

test("both at once is a conflict", () => {
  expect(faultOf("read_file", { max_size_mb: 1, maxBytes: 2 })).toMatchObject({
    code: "BAD_REQUEST",
    reason: "invalid_arguments",
    remedy: "give maxBytes only",
  });
});

test("the method says which tool; others are refused", () => {
  for (const name of ["http_request", "web/request", "web_request"])
    for (const [method, tool] of [
      ["GET", "web/get"],
      ["post", "web/post"],
      ["PUT", "web/put"],
      ["Delete", "web/delete"],
    ] as const)
      expect(translate(name, { method, url: "https://a" })).toEqual({
        name: tool,
        arguments: { url: "https://a" },
      });
  expect(translate("http_request", { url: "https://a" }).name).toBe("web/get");
  for (const method of ["PATCH", "constructor", 7, null])
    expect(faultOf("http_request", { method })).toMatchObject({
      code: "BAD_REQUEST",
      errors: [{ path: "/method" }],
    });
});

test("a name that says what is meant implies it, unless the arguments say otherwise", () => {
  expect(translate("read_system_logs", { limit: 1 }).arguments).toEqual({
    source: "system",
    limit: 1,
  });
  const own = { source: "ostiary" };
  expect(translate("read_system_logs", own).arguments).toEqual(own);
  expect(translate("system/logs", {}).arguments).toEqual({});
});
