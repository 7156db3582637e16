// A field of the tables must reach every writer and reader of an execution.
import { describe, expect, test } from "vitest";
import { createStartText } from "../../core/record/start-text.ts";
import { testCaller } from "../../../test/fixtures/gate.ts";
import { readStart, USUAL_START } from "../../util/record/event-bodies.ts";
import { START_BODY, startFields, type StartBody } from "./body.ts";
import { createErrorTextIndex } from "./error-texts.ts";
import { COLUMNS, END_COLUMNS, END_FIELDS, START_FIELDS } from "./execution-fields.ts";
import type { Flat, Groups } from "./group.ts";
import { appender, readItems } from "./message.ts";
import { migrationsFor } from "./migrations/index.ts";
import { groupOf } from "./postgres/group.ts";
import { project, type EventEffect } from "./projection.ts";
import type { LogEvent } from "./store.ts";

/** Every field has a value of its own, so that two that change places are noticed. */
const START: StartBody = {
  toolName: "system/echo",
  requestedName: "system_echo",
  category: "system",
  status: "failed",
  arguments: { text: "hi" },
  argumentsCut: { size: 9, sha256: "ab" },
  startTime: 11,
  timeout: 12,
  userId: "ann",
  tenantId: "local",
  capsuleId: "capsule",
  keyId: "key",
  sessionId: "session",
  metadata: { a: 1 },
  idempotencyKey: "once",
  traceId: "0123456789abcdef0123456789abcdef",
  spanId: "span",
  toolVersion: "1.0.0",
  toolPin: "pin",
  runner: "native",
  entry: "rest",
  instanceId: "one",
  gates: "registry 0.001",
  approvalId: "approval",
  budget: { tool_calls: 1 },
  reserved: true,
  mode: "ALERT",
  roles: ["role"],
};
const END = {
  endTime: 13,
  executionTime: 2.5,
  error: "it is full",
  errorCode: "NOT_FOUND",
  errorReason: "missing",
  cancelReason: "timeout",
  budgetDelta: { tool_calls: -1 },
};
const event = (body: object): LogEvent => ({
  tenantId: "local",
  at: 14,
  action: "tool.execution.denied",
  actor: "bob",
  executionId: "e",
  body: JSON.stringify(body),
});
const DENIED = event({ ...START, ...END });

async function sent(which: LogEvent): Promise<Flat[]> {
  const flat: Flat[] = [];
  const queue: Pick<Groups, "push"> = {
    push(put) {
      put(flat);
      return Promise.resolve(1);
    },
  };
  await appender(queue as Groups)(which);
  return flat;
}

async function received(which: LogEvent): Promise<EventEffect | null> {
  const effects: (EventEffect | null)[] = [];
  readItems(await sent(which), {
    event: (_event, effect) => void effects.push(effect),
    batch: () => expect.unreachable(),
  });
  return effects[0] ?? null;
}

describe("a field of an execution", () => {
  test("arrives in the writer thread as the projection reads it from the log", async () => {
    const effect = await received(DENIED);
    expect(effect).toEqual(project(DENIED));
    expect(effect?.start).toMatchObject(
      Object.fromEntries(
        Object.entries(START_FIELDS).map(([key, { from }]) => [key, from(START as never)]),
      ),
    );
    for (const key of Object.keys(START_FIELDS)) expect(effect?.start).toHaveProperty(key);
    for (const key of Object.keys(END_FIELDS)) expect(effect?.end).toHaveProperty(key);
  });

  test("that is the event's own does not travel, and arrives all the same", async () => {
    const own = { ...DENIED, actor: "ann", at: 11 };
    expect((await sent(own)).filter((value) => value === "ann" || value === 11)).toHaveLength(2);
    expect(await received(own)).toEqual(project(own));
  });

  test("has its column in both databases, and in the procedure that appends on PostgreSQL", async () => {
    const flat = await sent(DENIED);
    const { values } = groupOf(flat, 0, "one", createErrorTextIndex());
    const [row] = JSON.parse(values.at(-5) as string) as Record<string, unknown>[];
    const schema = (kind: "sqlite" | "postgres"): string =>
      migrationsFor(kind)
        .flatMap(({ statements }) => statements)
        .join("\n");
    const [sqlite, postgres] = [schema("sqlite"), schema("postgres")];
    for (const { name, type } of COLUMNS) {
      if (name !== "start_seq") expect(row, name).toHaveProperty(name);
      expect(sqlite, name).toMatch(new RegExp(`\\b${name} (integer|text|real)`));
      expect(postgres, name).toMatch(
        new RegExp(`\\b${name} ${type}\\b|\\b${name} double precision`),
      );
    }
    const update = postgres.slice(postgres.indexOf("update executions e set"));
    for (const { name } of END_COLUMNS)
      expect(update).toMatch(new RegExp(`\\b${name} = .*\\bu\\.${name}`));
  });
});

describe("a field of a start's body", () => {
  test("is written into the text, and read from it", () => {
    const text = createStartText()({ caller: testCaller(), tool: null }, START);
    expect(readStart(text)).toEqual(START);
    expect(startFields({ ...START, other: 1 })).toEqual(START);
  });

  test("has a usual value exactly where it may be left out", () => {
    const mayBeLeftOut = Object.entries(START_BODY)
      .filter(([, part]) => part === "unusual")
      .map(([name]) => name);
    // These two are written always, and missing only in events of earlier releases.
    expect(new Set([...mayBeLeftOut, "budget", "roles"])).toEqual(
      new Set(Object.keys(USUAL_START)),
    );
  });
});
