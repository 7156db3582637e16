import { expect, test } from "vitest";
import { isWellFormed, matches, mintKey, prefixOf, sealKey } from "./keys.ts";

const SECRET = "a".repeat(64);

test("R055: a key has 256 random bits, a checksum, and is kept only as salted hash and prefix", () => {
  const a = mintKey(SECRET);
  const b = mintKey(SECRET);
  expect(a.secret).toMatch(/^ost_local_[0-9A-Za-z]{49}$/);
  expect(a.secret).not.toBe(b.secret);
  expect(a.secret.startsWith(a.prefix)).toBe(true);
  expect(a.prefix).toHaveLength("ost_local_".length + 6);
  expect(JSON.stringify([a.hash, a.salt, a.prefix])).not.toContain(a.secret);
  expect(a.salt).not.toBe(b.salt);
});

test("a wrong character anywhere is found by the checksum", () => {
  const { secret } = mintKey(SECRET);
  expect(isWellFormed(secret)).toBe(true);
  for (let at = 10; at < secret.length; at++) {
    const other = secret[at] === "a" ? "b" : "a";
    expect(isWellFormed(secret.slice(0, at) + other + secret.slice(at + 1))).toBe(false);
  }
  expect(isWellFormed(secret.slice(0, -1))).toBe(false);
});

test("a preset key is taken as it stands from 32 characters on", () => {
  const preset = "p".repeat(32);
  expect(isWellFormed(preset)).toBe(true);
  expect(isWellFormed(preset.slice(1))).toBe(false);
  expect(isWellFormed("p".repeat(513))).toBe(false);
  expect(prefixOf(preset)).toMatch(/^preset_[0-9a-f]{12}$/);
});

test("matches only the same key under the same server secret", () => {
  const key = mintKey(SECRET);
  expect(matches(key.secret, key, SECRET)).toBe(true);
  expect(matches(mintKey(SECRET).secret, key, SECRET)).toBe(false);
  expect(matches(key.secret, key, "b".repeat(64))).toBe(false);
  expect(matches(key.secret, { ...key, hash: "00" }, SECRET)).toBe(false);
  expect(sealKey(key.secret, SECRET).hash).not.toBe(key.hash);
});
