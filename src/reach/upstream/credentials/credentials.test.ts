// Credentials of servers over a real store: sealed, filled in, known to the masker, and nobody else's.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  openHouse,
  serverRow,
  type CredentialHouse,
} from "../../../../test/fixtures/credentials.ts";
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";

const SECRET = "a very secret value 4711";
const http = (
  headers: Record<string, string>,
  credentials: "shared" | "user" = "shared",
  name = "api",
): ServerRow =>
  serverRow(
    { kind: "http", url: "https://api.example.com/mcp", headers, auth: "headers" },
    credentials,
    name,
  );
const program = (env: Record<string, string>): ServerRow =>
  serverRow({
    kind: "stdio",
    argv: ["server"],
    env,
    isolation: "sandbox",
    folders: [],
    network: "none",
    localSockets: false,
  });

let house: CredentialHouse;
beforeEach(async () => {
  house = await openHouse();
});
afterEach(() => house.close());

const faultOf = async (work: Promise<unknown>): Promise<AppError["fault"] | null> => {
  try {
    await work;
    return null;
  } catch (cause) {
    if (cause instanceof AppError) return cause.fault;
    throw cause;
  }
};

test("R294: references in headers and variables are filled in for that server alone; the rest stays as it is", async () => {
  const row = http({
    Authorization: "Bearer ${credential:TOKEN}",
    "X-Team": "${credential:TEAM}/${credential:TEAM}",
    "X-Plain": "${other:X} $",
  });
  await house.credentials.put(row, "", "TOKEN", SECRET);
  await house.credentials.put(row, "", "TEAM", "blue $& team");
  const credential = await house.credentials.of(row, "bob");
  expect(await credential.headers()).toEqual({
    Authorization: `Bearer ${SECRET}`,
    "X-Team": "blue $& team/blue $& team",
    "X-Plain": "${other:X} $",
  });
  expect(credential.oauth).toBe(null);
  const started = program({ TOKEN: "${credential:TOKEN}", PLAIN: "x" });
  await house.credentials.put(started, "", "TOKEN", SECRET);
  expect(await (await house.credentials.of(started, "bob")).env()).toEqual({
    TOKEN: SECRET,
    PLAIN: "x",
  });
});

test("without references there is nothing to know apart", async () => {
  expect((await house.credentials.of(http({ "X-Plain": "x" }, "user"), "ann")).id).toBe("none");
});

test("the id tells whose it is and changes with every change, and with nothing else", async () => {
  const row = http({ Authorization: "${credential:TOKEN}" });
  await house.credentials.put(row, "", "TOKEN", SECRET);
  const first = (await house.credentials.of(row, "bob")).id;
  expect(first).toMatch(/^shared [0-9a-f]{12}$/);
  await house.credentials.put(row, "", "OTHER", "something else entirely");
  expect((await house.credentials.of(row, "eve")).id).toBe(first);
  expect((await house.again().of(row, "eve")).id).toBe(first);
  await house.credentials.put(row, "", "TOKEN", `${SECRET}!`);
  expect((await house.credentials.of(row, "bob")).id).not.toBe(first);
});

test("what was read is at hand for its owner, until anything of that server changes", async () => {
  const row = http({ Authorization: "${credential:TOKEN}" }, "user");
  await house.credentials.put(row, "ann", "TOKEN", SECRET);
  expect(house.credentials.cached(row, "ann")).toBe(null);
  const read = await house.credentials.of(row, "ann");
  expect(house.credentials.cached(row, "ann")).toBe(read);
  expect(house.credentials.cached(row, "ben")).toBe(null);
  expect(house.credentials.cached({ ...row }, "ann")).toBe(null);
  expect((await faultOf(house.credentials.of(row, "ben")))?.reason).toBe("upstream_login");
  expect(house.credentials.cached(row, "ben")).toBe(null);
  await house.credentials.put(row, "ann", "TOKEN", `${SECRET}!`);
  expect(house.credentials.cached(row, "ann")).toBe(null);
});

test("what is missing is named, with the command that mends it; nothing of it is remembered", async () => {
  const row = http({ Authorization: "${credential:TOKEN}", Other: "${credential:KEY}" });
  expect(await faultOf(house.credentials.of(row, "bob"))).toMatchObject({
    code: "UNAUTHORIZED",
    reason: "upstream_login",
    message: expect.stringContaining("TOKEN, KEY"),
    remedy: "ostiary servers credential api TOKEN",
  });
  await house.credentials.put(row, "", "TOKEN", SECRET);
  await house.credentials.put(row, "", "KEY", SECRET);
  expect(await faultOf(house.credentials.of(row, "bob"))).toBe(null);
  expect(await house.credentials.remove(row, "", "KEY")).toBe(true);
  expect(await house.credentials.remove(row, "", "KEY")).toBe(false);
  expect((await faultOf(house.credentials.of(row, "bob")))?.message).toContain("KEY");
});

test("T20: each user's own is used for that user alone, never everybody's instead", async () => {
  const row = http({ Authorization: "${credential:TOKEN}" }, "user");
  await house.credentials.put(row, "", "TOKEN", "everybody's secret");
  await house.credentials.put(row, "ann", "TOKEN", "ann's own secret");
  expect(await (await house.credentials.of(row, "ann")).headers()).toEqual({
    Authorization: "ann's own secret",
  });
  expect(await faultOf(house.credentials.of(row, "ben"))).toMatchObject({
    reason: "upstream_login",
    remedy: "ostiary servers credential api TOKEN --mine",
  });
});

test("T49: at rest it is sealed for its row: copied elsewhere it does not open", async () => {
  const row = http({ Authorization: "${credential:TOKEN}" }, "user");
  await house.credentials.put(row, "ann", "TOKEN", SECRET);
  for (const file of readdirSync(house.folder))
    expect(readFileSync(join(house.folder, file)).includes(SECRET)).toBe(false);
  expect(house.masker.shownText(`it is ${SECRET}`)).not.toContain(SECRET);
  const stored = await house.store.credentials.get("api", "ann", "TOKEN");
  if (stored === null) throw new Error("it is not there");
  const copies = [{ userId: "ben" }, { name: "TOKEN2" }, { server: "other" }] as const;
  for (const copy of copies) await house.store.credentials.put({ ...stored, ...copy });
  expect((await faultOf(house.credentials.of(row, "ben")))?.message).toContain("cannot be opened");
  expect(
    (await faultOf(house.credentials.of(http({ A: "${credential:TOKEN2}" }, "user"), "ann")))
      ?.message,
  ).toContain("cannot be opened");
  expect(
    (
      await faultOf(
        house.credentials.of(http({ A: "${credential:TOKEN}" }, "user", "other"), "ann"),
      )
    )?.message,
  ).toContain("cannot be opened");
  // The control: where it belongs it opens.
  expect(await faultOf(house.again().of(row, "ann"))).toBe(null);
});

test("a credential cannot begin another header", async () => {
  const row = http({ Authorization: "Bearer ${credential:TOKEN}" });
  await house.credentials.put(row, "", "TOKEN", "x\r\nX-Admin: yes");
  expect(await faultOf(house.credentials.of(row, "bob"))).toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringContaining("line break"),
  });
});

test("names and sizes are checked, and lists show names alone", async () => {
  const row = http({});
  for (const name of ["", "1x", "a b", "oauth https://x", "x".repeat(65)])
    expect([name, (await faultOf(house.credentials.put(row, "", name, SECRET)))?.code]).toEqual([
      name,
      "BAD_REQUEST",
    ]);
  for (const value of ["", "x".repeat(16_385), "a\0b"])
    expect((await faultOf(house.credentials.put(row, "", "T", value)))?.code).toBe("BAD_REQUEST");
  await house.credentials.put(row, "", "T", SECRET);
  expect(await house.credentials.list(row, "")).toEqual([
    { name: "T", updatedAt: expect.any(Number) },
  ]);
  expect(await house.credentials.list(row, "ann")).toEqual([]);
});

test("T1: all that comes in is a server and the id of a user", async () => {
  const row = http({ Authorization: "${credential:TOKEN}" }, "user");
  await house.credentials.put(row, "ann", "TOKEN", SECRET);
  const credential = await house.credentials.of(row, "ann");
  expect(house.credentials.of.length).toBe(2);
  expect([await credential.headers(), await credential.env()]).toEqual([
    { Authorization: SECRET },
    {},
  ]);
});
