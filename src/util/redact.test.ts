import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { findSecrets } from "./redact.ts";

const CORPUS = resolve(import.meta.dirname, "../../../shared/corpora/secrets/secrets.json");

interface Case {
  id: string;
  secret: boolean;
  lookalike: boolean;
  text: string;
  values: string[];
}

const decoded = (text: string): string => Buffer.from(text, "base64").toString("utf8");

/** The text with a sign in the place of each secret. */
function redacted(text: string): string {
  let result = "";
  let from = 0;
  for (const { start, end } of findSecrets(text)) {
    result += `${text.slice(from, start)}¤`;
    from = end;
  }
  return result + text.slice(from);
}

describe.skipIf(!existsSync(CORPUS))(
  "the public corpus (skipped: ../shared/corpora is absent)",
  () => {
    const cases = existsSync(CORPUS) ? (JSON.parse(readFileSync(CORPUS, "utf8")) as Case[]) : [];

    test("T49: no secret survives", () => {
      const secret = cases.filter((one) => one.secret);
      const survived = secret.filter(({ text, values }) => {
        const value = redacted(decoded(text));
        return values.some((each) => value.includes(decoded(each)));
      });
      console.info(`secrets: ${secret.length} texts, ${survived.length} survived`);
      expect(secret.length).toBeGreaterThan(50);
      expect(survived.map(({ id }) => id)).toEqual([]);
    });

    test("plain texts stay as they are", () => {
      const plain = cases.filter((one) => !one.secret && !one.lookalike);
      const changed = plain.filter(({ text }) => findSecrets(decoded(text)).length > 0);
      console.info(`plain: ${plain.length} texts, ${changed.length} changed`);
      expect(plain.length).toBeGreaterThan(50);
      expect(changed.map(({ id }) => id)).toEqual([]);
    });
  },
);

test("a password in an address goes, the address stays", () => {
  expect(redacted("see postgres://app:s3cr3t@db:5432/x?y=1")).toBe(
    "see postgres://app:¤@db:5432/x?y=1",
  );
  expect(redacted("mongodb+srv://u:p@ss@cluster.example/db")).toBe(
    "mongodb+srv://u:¤@cluster.example/db",
  );
  expect(redacted("to=https%3A%2F%2Fu%3Apa55%40host")).toBe("to=https%3A%2F%2Fu%3A¤%40host");
  expect(redacted("https://0123456789abcdef:x-oauth-basic@github.com/a")).toBe(
    "https://¤:x-oauth-basic@github.com/a",
  );
  for (const plain of [
    "https://a.example/path:with@signs",
    "mailto:a@b.c",
    "http://user@host/",
    "https://u:${PASSWORD}@h/",
    "https://h:443?mail=a@b.c",
  ])
    expect(redacted(plain)).toBe(plain);
});

const TOKEN = `ghp_${"a1B2".repeat(9)}`;

test.each([
  ["Authorization: Bearer abc123def456ghi789", "Authorization: Bearer ¤"],
  [
    'curl -H "Authorization: Basic dXNlcjpwYXNz" https://x',
    'curl -H "Authorization: Basic ¤" https://x',
  ],
  ['Authorization: Digest username="u", response="0f0f"', "Authorization: Digest ¤"],
  ["curl -s -u bob:hunter22 https://x", "curl -s -u bob:¤ https://x"],
  ["Set-Cookie: sid=abcdef123; Path=/", "Set-Cookie: ¤"],
  ["export API_KEY=abcd1234efgh5678", "export API_KEY=¤"],
  ["OPENAI_KEY=abcd1234efgh5678", "OPENAI_KEY=¤"],
  ["api_key: 'a8f5f167f44f4964e6c998dee827110c' # yaml", "api_key: '¤' # yaml"],
  ["password=hunter2&user=bob", "password=¤&user=bob"],
  ["Server=db;Password=Tr0ub4dor&3;Encrypt=yes", "Server=db;Password=¤;Encrypt=yes"],
  ['{"password":"hunter2!","a":1}', '{"password":"¤","a":1}'],
  [String.raw`{\"password\":\"hunter2!\",\"a\":1}`, String.raw`{\"password\":\"¤\",\"a\":1}`],
  ["my password is hunter2, really", "my password is ¤, really"],
  ["run --password hunter22 --verbose", "run --password ¤ --verbose"],
  ["<db-password>Tr0ub4dor</db-password>", "<db-password>¤</db-password>"],
  ["https://h/x?access_token=abcdef123456&y=1", "https://h/x?access_token=¤&y=1"],
  ["https://h/b?sv=1&sig=AbCdEf12345678901234%3D", "https://h/b?sv=1&sig=¤"],
  ["aws_secret_access_key = wJalr/K7MDENG+bPxRfiCYzzzzzzzzzz", "aws_secret_access_key = ¤"],
  ["//registry.example/:_authToken=11111111-aaaa", "//registry.example/:_authToken=¤"],
  ["machine h login bob password s3cretpw", "machine h login bob password ¤"],
  [`{"log":"\\n${TOKEN}"}`, '{"log":"\\n¤"}'],
  [`q=%3D${TOKEN}`, "q=%3D¤"],
  ["token: 123e4567-e89b-12d3-a456-426614174000", "token: ¤"],
  [
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  user: YWRtaW4=\n",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  user: ¤\n",
  ],
  [
    "seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow",
    "seed phrase: ¤",
  ],
])("%s", (text, expected) => {
  expect(redacted(text)).toBe(expected);
});

test.each([
  "password: string",
  "const token = user.token2;",
  "token = getToken(4)",
  "password = process.env.DB_PASSWORD2",
  "passwordMinLength: 12",
  "the password: must be at least 8 characters",
  '"nextPageToken": "CAUQAA1xyz123"',
  "max_tokens: 4096",
  "PWD=/home/user/x1",
  "cache_key: user1234567890abcdef",
  "commit 4f3a2b1c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a",
  "id 123e4567-e89b-12d3-a456-426614174000",
  "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "Basic information about authorization: read the manual",
  "Bearer authentication is used",
  "api_key: ${API_KEY_2}",
  "password: '<your-password-1>'",
  "integrity sha512-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08==",
])("stays: %s", (text) => {
  expect(redacted(text)).toBe(text);
});

test("hostile text does not make it slow", () => {
  const before = performance.now();
  for (const unit of [
    "-----BEGIN PRIVATE KEY-----",
    "a_",
    "secret_",
    "x://:",
    "eyJ1",
    "eyJaaaaaaaaaaa.",
    "account_key=",
    "a",
    "password=",
    'password="',
    "password='x",
    "Authorization: ",
    "Cookie: a=",
    "<token>",
    "glc_1",
    "github_pat_1",
    "ATBB1",
    "kind: Secret\n data:\n",
    "%3A%2F%2Fa%3A",
    " curl -u a",
    "[masked]",
  ])
    findSecrets(unit.repeat(Math.ceil(1_000_000 / unit.length)));
  expect(performance.now() - before).toBeLessThan(120_000);
}, 180_000);
