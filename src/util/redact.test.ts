import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { MASK } from "./mask.ts";
import { redact, redactText } from "./redact.ts";

const CORPUS = resolve(import.meta.dirname, "../../../shared/corpora/secrets/secrets.json");

interface Case {
  id: string;
  secret: boolean;
  lookalike: boolean;
  text: string;
  values: string[];
}

const decoded = (text: string): string => Buffer.from(text, "base64").toString("utf8");

describe.skipIf(!existsSync(CORPUS))("the public corpus (skipped: ../shared/corpora is absent)", () => {
  const cases = existsSync(CORPUS) ? (JSON.parse(readFileSync(CORPUS, "utf8")) as Case[]) : [];

  test("no secret survives", () => {
    const secret = cases.filter((one) => one.secret);
    const survived = secret.filter(({ text, values }) => {
      const { value } = redactText(decoded(text));
      return values.some((each) => value.includes(decoded(each)));
    });
    console.info(`secrets: ${secret.length} texts, ${survived.length} survived`);
    expect(secret.length).toBeGreaterThan(50);
    expect(survived.map(({ id }) => id)).toEqual([]);
  });

  test("plain texts stay as they are", () => {
    const plain = cases.filter((one) => !one.secret && !one.lookalike);
    const changed = plain.filter(({ text }) => redactText(decoded(text)).masked > 0);
    console.info(`plain: ${plain.length} texts, ${changed.length} changed`);
    expect(plain.length).toBeGreaterThan(50);
    expect(changed.map(({ id }) => id)).toEqual([]);
  });
}); // prettier-ignore

test("a password in an address goes, the address stays", () => {
  expect(redactText("see postgres://app:s3cr3t@db:5432/x?y=1")).toEqual({ value: `see postgres://app:${MASK}@db:5432/x?y=1`, masked: 1 }); // prettier-ignore
  for (const plain of ["https://a.example/path:with@signs", "mailto:a@b.c", "http://user@host/", "https://u:${PASSWORD}@h/"])
    expect(redactText(plain).masked).toBe(0);
}); // prettier-ignore

test("values are copied only where something is masked", () => {
  const plain = { a: ["x", { b: "nothing here-to see_at all" }], n: 1, z: null };
  expect(redact(plain).value).toBe(plain);
  const key = `ghp_${"a1B2".repeat(9)}`;
  const mixed = { keep: plain, text: `token ${key}`, list: [key, "fine"], $content: [{ data: key }] };
  const { value, masked } = redact(mixed);
  expect(masked).toBe(2);
  expect(value).toEqual({ keep: plain, text: `token ${MASK}`, list: [MASK, "fine"], $content: [{ data: key }] }); // prettier-ignore
  expect(value.keep).toBe(plain);
}); // prettier-ignore

test("hostile text does not make it slow", () => {
  const before = performance.now();
  for (const unit of ["-----BEGIN PRIVATE KEY-----", "a_", "secret_", "x://:", "eyJaaaaaaaaaaa.", "account_key=", "a"])
    redactText(unit.repeat(Math.ceil(1_000_000 / unit.length)));
  expect(performance.now() - before).toBeLessThan(30_000);
}); // prettier-ignore
