import { expect, test } from "vitest";
import { ledgerParts, ledgerText } from "../../../util/record/ledger-line.ts";
import { inOneMessage } from "./message.ts";

test("values become quoted literals, whatever they hold", () => {
  const statement = {
    sql: `insert into t values ($1, $2, $3, $4, $5, $10, '$6', "a$7")`,
    parameters: ["it's $2", "a\\b", 5, null, new Uint8Array([0, 255]), 6, 7, 8, true, -1.5],
  };
  expect(inOneMessage([statement, { sql: "select 1", parameters: [] }])).toBe(
    `insert into t values ('it''s $2',  E'a\\\\b', '5', null,  E'\\\\x00ff', '-1.5', '$6', "a$7");\nselect 1`,
  );
});

test("a parameter that is not there, and a value that cannot be stored, are refused", () => {
  expect(() => inOneMessage([{ sql: "select $2", parameters: [1] }])).toThrow(/no parameter \$2/);
  expect(() => inOneMessage([{ sql: "select $1", parameters: ["\0"] }])).toThrow(/NUL/);
});

test("item 16: the parts that the database links are the line that everybody hashes", () => {
  const e = {
    seq: 7,
    tenantId: 'a"b',
    instanceId: "i",
    n: 3,
    prevHash: "0".repeat(64),
    at: 9,
    action: "x.y",
    actor: "ü\n",
    executionId: "e",
    body: '{"k":1}',
  };
  for (const event of [e, { ...e, executionId: null }]) {
    const { before, after } = ledgerParts(event);
    const linked = `{"v":1,"seq":${e.seq}${before}${e.n},"prevHash":"${e.prevHash}${after}${e.body}}`;
    expect(linked).toBe(ledgerText(event));
  }
});
