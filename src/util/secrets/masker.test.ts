import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../contract/call.ts";
import { isMasked, MASK } from "./mask.ts";
import { createMasker } from "./masker.ts";

const KNOWN = 'k/n+o"wn secret 42';
const masker = createMasker({ key: Buffer.alloc(32, 7), known: [KNOWN] });
const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const TAG = /\[masked:[0-9a-f]{12}\]/;

describe("in the record", () => {
  test("T49: equal secrets have equal tags, and others other ones, under each key", () => {
    const { a, b, c } = masker.value({ a: `x ${TOKEN}`, b: TOKEN, c: TOKEN.replace("a1", "b1") });
    expect(a).toBe(`x ${b}`);
    expect(b).toMatch(TAG);
    expect(c).not.toBe(b);
    expect(createMasker({ key: Buffer.alloc(32, 8) }).text(TOKEN)).not.toBe(b);
  });

  test("fields are masked whole by their names, whatever they hold", () => {
    const masked = masker.value({
      Authorization: "Bearer x",
      a: [{ user_password: "p" }],
      apiKey: { deep: 1 },
      pin: 5,
      otp: 123456,
    });
    expect(JSON.stringify(masked)).toMatch(
      /^\{"Authorization":"\[masked:\w{12}\]","a":\[\{"user_password":"\[masked:\w{12}\]"\}\],"apiKey":"\[masked:\w{12}\]","pin":5,"otp":"\[masked:\w{12}\]"\}$/,
    );
    const kept = { token: null, secret: true, password: "", nextPageToken: "c1" };
    expect(masker.value(kept)).toBe(kept);
  });

  test("a name may stand beside its value, or before it", () => {
    expect(masker.value({ name: "DB_PASSWORD", value: "x" }).value).toMatch(TAG);
    expect(masker.value({ selector: 'input[name="password"]', text: "x" }).text).toMatch(TAG);
    expect(masker.value({ name: "city", value: "x" })).toEqual({ name: "city", value: "x" });
    expect(masker.value(["curl", "--api-key", "x", "y"])[2]).toMatch(TAG);
    expect(Object.keys(masker.value({ [TOKEN]: 1 }))[0]).toMatch(TAG);
  });

  test("values are copied only where something is masked, and pictures are left alone", () => {
    const plain = { a: ["x", { b: "nothing here-to see_at all" }], n: 1, z: null };
    expect(masker.value(plain)).toBe(plain);
    const mixed = {
      keep: plain,
      text: TOKEN,
      $content: [
        { type: "image", data: TOKEN },
        { type: "text", text: TOKEN },
      ],
    };
    const masked = masker.value(mixed);
    expect(masked.keep).toBe(plain);
    expect(masked.$content[0]).toBe(mixed.$content[0]);
    expect(JSON.stringify(masked.$content[1])).toMatch(TAG);
  });
});

describe("for the caller", () => {
  test("a result is masked by look and known values, its fields keep their names' values", () => {
    const { answer, recorded, masked } = masker.result({ token: "cursor-1", text: TOKEN });
    expect(answer).toEqual({ token: "cursor-1", text: MASK });
    expect(masked).toBe(1);
    expect(JSON.stringify(recorded)).not.toContain("cursor-1");
    const clean = { text: "hello" };
    expect(masker.result(clean)).toEqual({ answer: clean, recorded: clean, masked: 0 });
  });

  test("told texts and shown values have plain masks", () => {
    expect(masker.shownText(`read ${TOKEN}!`)).toBe(`read ${MASK}!`);
    expect(masker.shownValue({ password: "x", t: TOKEN })).toEqual({ password: MASK, t: MASK });
  });
});

describe("known values", () => {
  test.each([
    ["as they are", KNOWN],
    ["in JSON", JSON.stringify({ x: KNOWN })],
    ["percent-encoded", encodeURIComponent(KNOWN)],
    [
      "percent-encoded in small letters",
      encodeURIComponent(KNOWN)
        .replaceAll("%2F", "%2f")
        .replaceAll("%2B", "%2b")
        .replaceAll("%22", "%22"),
    ],
    ["as a form sends them", new URLSearchParams({ x: KNOWN }).toString()],
    ["in base64", Buffer.from(KNOWN).toString("base64")],
    ["in base64 behind one character", Buffer.from(`u${KNOWN}zz`).toString("base64")],
    ["in base64 behind two", Buffer.from(`u:${KNOWN}`).toString("base64")],
    ["in base64 for addresses", Buffer.from(`ab${KNOWN}?`).toString("base64url")],
  ])("are masked %s", (_how, text) => {
    const masked = masker.text(`before ${text} after`);
    expect(masked).toMatch(/^before .*\[masked:\w{12}\].* after$/);
    expect(masked.match(TAG)?.[0]).toBe(masker.text(KNOWN));
  });

  test("are learnt while it runs; short ones are words", () => {
    const own = createMasker({ key: Buffer.alloc(32) });
    expect(own.text("abc-known-later")).toBe("abc-known-later");
    own.know("known-later");
    own.know("short");
    expect(own.text("abc-known-later short")).toMatch(/^abc-\[masked:\w{12}\] short$/);
  });

  test("any number is found in one pass", () => {
    const secrets = fc.sample(fc.stringMatching(/^[a-z0-9]{12,40}$/), { numRuns: 500, seed: 7 });
    const own = createMasker({ key: Buffer.alloc(32), known: secrets });
    const masked = own.text(secrets.join(" | "));
    expect(secrets.filter((secret) => masked.includes(secret))).toEqual([]);
  });
});

test("a log line stays one line of JSON; a clean one is the same text", () => {
  const clean = '{"level":30,"msg":"tool_call_completed","tool":"system/echo"}\n';
  expect(masker.line(clean)).toBe(clean);
  const line = masker.line(
    `${JSON.stringify({ msg: `got ${TOKEN}`, password: "x1", err: { message: KNOWN } })}\n`,
  );
  expect(line.endsWith("}\n")).toBe(true);
  expect(JSON.parse(line)).toEqual({
    msg: expect.stringMatching(TAG),
    password: expect.stringMatching(TAG),
    err: { message: expect.stringMatching(TAG) },
  });
  expect(masker.line(`not json ${TOKEN}\n`)).toMatch(/^not json \[masked:\w{12}\]\n$/);
});

test("what masks stand for can be put back, where that is one thing", () => {
  const value = { a: `x ${TOKEN} y`, password: "p1" };
  const secrets = masker.secretsIn(value);
  expect([...secrets.values()].sort()).toEqual([TOKEN, "p1"].sort());
  const two = masker.secretsIn(`${KNOWN} and ${encodeURIComponent(KNOWN)}`);
  expect(two.size).toBe(0);
});

describe("whatever comes", () => {
  const digits = "0123456789abcdefghijklmnopqrstuvwxyz";
  const made = fc
    .array(fc.constantFrom(...digits), { minLength: 40, maxLength: 40 })
    .map((letters) => `A1${letters.join("")}`);
  const planted = made.chain((letters) =>
    fc.constantFrom(
      { secret: `ghp_${letters}`, text: `ghp_${letters}` },
      { secret: letters, text: `password=${letters}` },
      { secret: letters, text: `"api_key": "${letters}"` },
      { secret: letters, text: `Authorization: Bearer ${letters}` },
      { secret: letters, text: `https://u:${letters}@host.example/` },
      { secret: letters, text: `https://h.example/?access_token=${letters}` },
      { secret: KNOWN, text: KNOWN },
    ),
  );
  const noise = fc.oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.constantFrom(
      " ",
      "\n",
      '{"a":"',
      "token: ",
      "password",
      "=",
      '"',
      "'",
      "[masked]",
      "[masked:0123456789ab]",
      "://",
      "-----BEGIN PRIVATE KEY-----",
    ),
  );
  const text = fc.array(noise, { maxLength: 8 }).map((parts) => parts.join(""));

  test("T49: nothing planted comes out, in texts, fields and names", () => {
    fc.assert(
      fc.property(text, planted, text, (before, { secret, text: middle }, after) => {
        const whole = `${before} ${middle} ${after}`;
        expect(masker.text(whole)).not.toContain(secret);
        expect(JSON.stringify(masker.value({ a: [whole], b: { [middle]: whole } }))).not.toContain(
          secret,
        );
        const { answer, recorded } = masker.result({ whole });
        expect(JSON.stringify([answer, recorded])).not.toContain(secret);
      }),
      { numRuns: 500 },
    );
  });

  test("masking twice is masking once", () => {
    fc.assert(
      fc.property(text, planted, text, (before, { text: middle }, after) => {
        const once = masker.value({ text: `${before}${middle}${after}`, token: middle });
        expect(masker.value(once)).toEqual(once);
      }),
      { numRuns: 500 },
    );
  });

  test("it never throws, and what holds no secret is the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        masker.value(value as Json);
        masker.result(value as Json);
        masker.line(JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
    const word = fc.stringMatching(/^[a-z]{1,12}$/);
    const harmless = fc.oneof(
      word,
      fc.uuid(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(word).map((words) => words.join(" ")),
      fc.base64String({ minLength: 100, maxLength: 2000 }),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.emailAddress(),
    );
    const value = fc.dictionary(
      fc.constantFrom("a", "text", "path", "list", "id", "sha256"),
      fc.oneof(harmless, fc.array(harmless)),
    );
    fc.assert(
      fc.property(value, (given) => masker.value(given as Json) === given),
      { numRuns: 1_000 },
    );
  });
});

test("both forms of a mask are known as one", () => {
  expect([MASK, "[masked:0123456789ab]"].every(isMasked)).toBe(true);
  expect(["[masked:xyz]", "[masked] ", "masked", 5, null].some(isMasked)).toBe(false);
});

test("of secrets that are replaced now and then the newest are known, and those known for good stay", () => {
  const own = createMasker({ key: Buffer.alloc(32), known: [KNOWN] });
  const token = (at: number): string => `${String(at * 7_919).padStart(8, "0")} is a token`;
  for (let at = 0; at < 700; at++) own.knowTemporary(token(at));
  expect(own.shownText(`${token(699)}, ${token(300)}`)).not.toContain("token");
  expect(own.shownText(token(0))).toBe(token(0));
  expect(own.shownText(KNOWN)).not.toContain(KNOWN);
  own.know("known after all of them");
  expect(own.shownText("known after all of them")).not.toContain("known after");
});
