import { describe, expect, test } from "vitest";
import { call, callWith, set, testContext } from "../testing.ts";

describe("net.cidr", () => {
  test("contains addresses and networks of the same family", () => {
    expect(call("net.cidr_contains", "10.0.0.0/8", "10.1.2.3")).toBe("true");
    expect(call("net.cidr_contains", "10.0.0.0/8", "10.1.0.0/16")).toBe("true");
    expect(call("net.cidr_contains", "10.0.0.0/8", "0.0.0.0/0")).toBe("false");
    expect(call("net.cidr_contains", "::/0", "::/80")).toBe("true");
    expect(call("net.cidr_contains", "::/0", "10.0.0.1")).toBe("false");
    expect(call("net.cidr_contains", "10.0.0.0/8", "x")).toContain(
      "not a valid textual representation",
    );
    expect(call("net.cidr_contains", "10.0.0.0/33", "10.0.0.1")).toBe(
      "failure: invalid CIDR address: 10.0.0.0/33",
    );
  });

  test("intersects, matches and validity", () => {
    expect(call("net.cidr_intersects", "10.0.0.0/8", "10.1.0.0/16")).toBe("true");
    expect(call("net.cidr_is_valid", "010.0.0.0/8")).toBe("false");
    expect(call("net.cidr_contains_matches", ["1.1.1.0/24"], { a: "1.1.1.5", b: "2.2.2.2" })).toBe(
      '{[0, "a"]}',
    );
    expect(call("net.cidr_contains_matches", "1.1.1.0/24", [[]])).toBe(
      "failure: operand 2: element must be string or non-empty array",
    );
  });

  test("merges neighbours", () => {
    expect(call("net.cidr_merge", ["192.0.128.0/24", "192.0.129.0/24"])).toBe('{"192.0.128.0/23"}');
    expect(call("net.cidr_merge", set("::1"))).toBe("failure: IPv6 invalid: needs prefix length");
  });

  test("expands small networks and refuses huge ones", () => {
    expect(call("net.cidr_expand", "10.0.0.0/30")).toBe(
      '{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"}',
    );
    expect(() => callWith(testContext({}, 1_000), "net.cidr_expand", "::/0")).toThrow("step limit");
  });
});

describe("net.lookup_ip_addr", () => {
  test("needs the power, and asks once per query", () => {
    expect(call("net.lookup_ip_addr", "h")).toContain("no name resolution was granted");
    let asked = 0;
    const ctx = testContext({
      lookup: () => {
        asked++;
        return ["10.0.0.1"];
      },
    });
    callWith(ctx, "net.lookup_ip_addr", "h");
    expect(callWith(ctx, "net.lookup_ip_addr", "h")).toBe('{"10.0.0.1"}');
    expect(asked).toBe(1);
  });
});

describe("http.send", () => {
  test("checks the request before it asks for the network", () => {
    expect(call("http.send", { method: "get" })).toBe(
      'operand: operand 1 missing required request parameters(s): {"url"}',
    );
    expect(call("http.send", { method: "get", url: "x", bad_key: 1 })).toBe(
      'operand: operand 1 invalid request parameters(s): {"bad_key"}',
    );
    expect(call("http.send", { method: "get", url: "http://x" })).toBe(
      "failure: no network access was granted",
    );
  });
});
