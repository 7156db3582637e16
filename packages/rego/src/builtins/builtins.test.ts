import { describe, expect, test } from "vitest";
import { fromJson } from "../values/json.ts";
import { ALL_BUILTINS, call, callWith, set, testContext } from "./testing.ts";

describe("the list of built-ins", () => {
  test("names are unique", () => {
    const names = ALL_BUILTINS.map((builtin) => builtin.name);
    expect(new Set(names).size).toBe(names.length);
  });

  test("every one of OPA's 206 is there", () => {
    expect(ALL_BUILTINS.length).toBe(206);
  });

  test("what reaches outside says so", () => {
    const outside = ALL_BUILTINS.filter(
      (builtin) => builtin.needs !== undefined && builtin.needs !== "crypto",
    );
    expect(outside.map((builtin) => builtin.name).sort()).toEqual([
      "http.send",
      "net.lookup_ip_addr",
      "rand.intn",
      "time.now_ns",
      "uuid.rfc4122",
    ]);
  });

  test("without powers none of them has an effect or a result", () => {
    expect(call("http.send", { method: "get", url: "http://x" })).toContain("failure");
    expect(call("uuid.rfc4122", "k")).toContain("failure");
  });
});

describe("output", () => {
  test("print writes one line per combination, undefined shown as such", () => {
    const lines: string[] = [];
    const ctx = testContext({ print: (line) => lines.push(line) });
    callWith(ctx, "internal.print", [set("a"), set(), set(1, 2)]);
    expect(lines).toEqual(["a <undefined> 1", "a <undefined> 2"]);
  });

  test("template strings join their parts", () => {
    expect(call("internal.template_string", ["a", set(1), set()])).toBe('"a1<undefined>"');
    expect(call("internal.template_string", [set(1, 2)])).toBe(
      "halt: template-strings must not produce multiple outputs",
    );
  });

  test("the runtime does not show credentials", () => {
    const runtime = {
      config: {
        services: { s: { url: "u", credentials: "c" } },
        keys: { k: { key: "x", scope: "y" } },
      },
    };
    const ctx = { ...testContext(), runtime: runtimeValue(runtime) };
    expect(callWith(ctx, "opa.runtime")).toBe(
      '{"config": {"keys": {"k": {"scope": "y"}}, "services": {"s": {"url": "u"}}}}',
    );
  });
});

function runtimeValue(json: unknown): ReturnType<typeof testContext>["runtime"] {
  return fromJson(json);
}
