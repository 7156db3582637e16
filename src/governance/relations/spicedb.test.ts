// What needs no server; the rest is proved against a real one in test/services.
import { describe, expect, test } from "vitest";
import { AppError } from "../../contract/errors.ts";
import { parseAddress } from "./spicedb/address.ts";
import { createFreshness } from "./spicedb/freshness.ts";
import { openSpicedbRelations } from "./spicedb.ts";

describe("the address", () => {
  test("names server, key, encryption and consistency", () => {
    expect(parseAddress("spicedb://:s%2Fecret@db.example:8443")).toEqual({
      target: "db.example:8443",
      token: "s/ecret",
      tls: true,
      alwaysFresh: false,
    });
    expect(parseAddress("spicedb+insecure://key@127.0.0.1?consistency=full")).toEqual({
      target: "127.0.0.1:50051",
      token: "key",
      tls: false,
      alwaysFresh: true,
    });
    expect(parseAddress("spicedb://:k@[::1]:1").target).toBe("[::1]:1");
  });

  test.each([
    ["spicedb://:k@", /expected spicedb:/],
    ["http://:k@host:1", /unknown scheme http:/],
    ["spicedb://host:1", /preshared key is missing/],
    ["spicedb://:k@host:1/path", /a path is not understood/],
    ["spicedb://:k@host:1?consistency=none", /unknown option consistency=none/],
    ["spicedb://:k@host:1?fast=1", /unknown option fast=1/],
    ["spicedb://:sesame@host:notaport", /expected spicedb:/],
    ["spicedb://:sesame%ZZ@host:1", /percent/],
  ])("%s is refused without repeating the key", (address, message) => {
    expect(() => parseAddress(address)).toThrow(AppError);
    expect(() => parseAddress(address)).toThrow(message);
    expect(() => parseAddress(address)).not.toThrow(/sesame/);
  });
});

describe("freshness", () => {
  const kind = (freshness: ReturnType<typeof createFreshness>) =>
    freshness.next().consistency.requirement.oneofKind;

  test("the newest state first and after each change; then at least as new as what was seen", () => {
    const freshness = createFreshness(false);
    expect(kind(freshness)).toBe("fullyConsistent");
    freshness.next().learn({ token: "a" });
    expect(kind(freshness)).toBe("atLeastAsFresh");
    freshness.renew();
    expect(kind(freshness)).toBe("fullyConsistent");
  });

  test("an answer that was under way during a change teaches nothing", () => {
    const freshness = createFreshness(false);
    const early = freshness.next();
    freshness.renew();
    early.learn({ token: "older than the change" });
    expect(kind(freshness)).toBe("fullyConsistent");
    freshness.next().learn(undefined);
    expect(kind(freshness)).toBe("fullyConsistent");
  });

  test("consistency=full always reads the newest state", () => {
    const freshness = createFreshness(true);
    freshness.next().learn({ token: "a" });
    expect(kind(freshness)).toBe("fullyConsistent");
  });
});

test("opening asks nobody; without a server every question is refused", async () => {
  const relations = openSpicedbRelations("spicedb+insecure://:k@127.0.0.1:1", {});
  const request = {
    resource: { type: "tool", id: "a" },
    permission: "execute",
    subject: { type: "user", id: "u" },
  };
  for (const work of [
    relations.check(request),
    relations.read({}, { limit: 1 }),
    relations.schema(),
    relations.ping(),
  ])
    await expect(work).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await relations.close();
  await expect(relations.ping()).rejects.toMatchObject({ code: "UNAVAILABLE" });
});
