// Server-sent events: live, resumed, own only, ended with the client and with the credential.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { slowTool } from "../fixtures/slow-tool.ts";

interface Event {
  id: number;
  event: string;
  data: {
    id: string;
    toolName: string;
    status: string;
    cancelReason?: string;
    userId: string;
    startTime: string;
    executionTime?: number;
    errorCode?: string | null;
  };
}

/** A reader of one stream; events gather in `events`. */
class Reader {
  readonly events: Event[] = [];
  comments = 0;
  ended = false;
  readonly response: Response;
  readonly #abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#read().then(
      () => (this.ended = true),
      () => (this.ended = true),
    );
  }

  static async open(
    app: StartedApp,
    key: string,
    headers: Record<string, string> = {},
    query = "",
  ) {
    const abort = new AbortController();
    const response = await fetch(`${app.url}/api/v1/events${query}`, {
      headers: { authorization: `Bearer ${key}`, ...headers },
      signal: abort.signal,
    });
    return new Reader(response, abort);
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of this.response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string): void {
    const fields = new Map(
      block.split("\n").map((line) => {
        const at = line.indexOf(": ");
        return [line.slice(0, at), line.slice(at + 2)];
      }),
    );
    const data = fields.get("data");
    if (data === undefined) this.comments++;
    else
      this.events.push({
        id: Number(fields.get("id")),
        event: fields.get("event") ?? "",
        data: JSON.parse(data) as Event["data"],
      });
  }
}

describe("events", () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp({ tools: [slowTool({ runs: [] })] });
    const capabilities = ["system/echo", "system/slow"];
    await app.api("POST", "/capsules", { body: { id: "ev", name: "ev", capabilities } });
    ann = await newUser(app, "ann", { capsuleId: "ev" });
  });
  afterAll(() => app.close());

  const echo = (text: string, key = ann) =>
    app.api("POST", "/executions", { key, body: { name: "system/echo", arguments: { text } } });

  test("R126: streams the states of the caller's own executions", async () => {
    const reader = await Reader.open(app, ann);
    expect(reader.response.status).toBe(200);
    expect(reader.response.headers.get("content-type")).toContain("text/event-stream");
    expect(reader.response.headers.get("request-id")).toMatch(/^req_/);
    await until(() => reader.comments > 0);
    const { body } = await echo("one");
    await echo("not mine", app.adminKey);
    const slow = await app.api("POST", "/executions", {
      key: ann,
      body: { name: "system/slow", arguments: { ms: 60_000 }, wait: false },
    });
    await app.api("POST", `/executions/${slow.body.executionId}/cancel`, { key: ann });
    await until(() => reader.events.length >= 4);
    const told = reader.events.map((e) => [e.data.id, e.event, e.data.status]);
    expect(told).toEqual([
      [body.executionId, "tool.execution.start", "running"],
      [body.executionId, "tool.execution.complete", "success"],
      [slow.body.executionId, "tool.execution.start", "running"],
      [slow.body.executionId, "tool.execution.cancelled", "cancelled"],
    ]);
    expect(reader.events.at(-1)?.data.cancelReason).toBe("user");
    const ids = reader.events.map((e) => e.id);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    reader.close();
  });

  test("resumes after Last-Event-ID: nothing missing, nothing twice", async () => {
    const first = await Reader.open(app, ann);
    await until(() => first.comments > 0);
    await echo("a");
    await until(() => first.events.length === 2);
    first.close();
    const last = first.events[1]?.id ?? 0;
    await echo("b");
    await echo("c");
    const second = await Reader.open(app, ann, { "last-event-id": String(last) });
    await until(() => second.events.length >= 4);
    await echo("d");
    await until(() => second.events.length >= 6);
    const ids = second.events.map((e) => e.id);
    expect(ids.every((id) => id > last)).toBe(true);
    expect(new Set(ids).size).toBe(6);
    // The same by query, for clients that cannot set headers.
    const third = await Reader.open(app, ann, {}, `?after=${last}`);
    await until(() => third.events.length >= 6);
    expect(third.events.map((e) => e.id)).toEqual(ids);
    second.close();
    third.close();
  });

  test("a Last-Event-ID that is no number is refused", async () => {
    const { status, body } = await app.api("GET", "/events", { headers: { "last-event-id": "x" } });
    expect(status).toBe(400);
    expect(body.errors[0].path).toBe("/after");
  });

  test("a hidden tool's refusal looks like an unknown name's", async () => {
    const reader = await Reader.open(app, ann);
    await until(() => reader.comments > 0);
    await app.api("POST", "/executions", { key: ann, body: { name: "system/time" } });
    await app.api("POST", "/executions", { key: ann, body: { name: "no/such" } });
    await until(() => reader.events.length >= 2);
    const plain = reader.events.map(({ event, data: { id: _, ...data } }) =>
      JSON.stringify({ event, ...data, at: null, startTime: null, executionTime: 0 }).replace(
        "system/time",
        "no/such",
      ),
    );
    expect(plain[0]).toBe(plain[1]);
    reader.close();
  });

  test("an administrator follows everybody's executions, with all that a list shows of them", async () => {
    const reader = await Reader.open(app, app.adminKey, {}, "?everyone=true");
    const own = await Reader.open(app, app.adminKey);
    await until(() => reader.comments > 0 && own.comments > 0);
    const good = await echo("theirs");
    const bad = await app.api("POST", "/executions", {
      key: ann,
      body: { name: "system/echo", arguments: {} },
    });
    await echo("mine", app.adminKey);
    await until(() => reader.events.length >= 5 && own.events.length >= 2);
    const [start, end, refused, ...mine] = reader.events;
    const row = { id: good.body.executionId as string, toolName: "system/echo", userId: "ann" };
    expect(start).toMatchObject({
      event: "tool.execution.start",
      data: { ...row, status: "running", startTime: expect.stringMatching(/Z$/) as string },
    });
    expect(end?.data).toMatchObject({
      ...row,
      status: "success",
      startTime: start?.data.startTime,
      executionTime: expect.any(Number) as number,
      errorCode: null,
    });
    expect(refused?.data).toMatchObject({
      id: bad.body.execution_id as string,
      status: "failed",
      errorCode: "BAD_REQUEST",
      errorReason: "invalid_arguments",
    });
    // Their own are told once, and what follows only them is not told of others.
    expect(mine.map((each) => each.data.userId)).toEqual(["owner", "owner"]);
    expect(own.events.map((each) => each.data.userId)).toEqual(["owner", "owner"]);
    const again = await Reader.open(
      app,
      app.adminKey,
      {},
      `?everyone=true&after=${start?.id ?? 0}`,
    );
    await until(() => again.events.length >= 4);
    expect(again.events).toEqual(reader.events.slice(1));
    for (const each of [reader, own, again]) each.close();
  });

  test("others may not, however often they ask", async () => {
    for (let i = 0; i < 20; i++) {
      const { status, body } = await app.api("GET", "/events?everyone=true", { key: ann });
      expect([status, body.reason]).toEqual([403, "admin_only"]);
    }
    const reader = await Reader.open(app, ann);
    expect(reader.response.status).toBe(200);
    reader.close();
  });

  test("an administrator who becomes a user hears only their own from then on", async () => {
    const key = await newUser(app, "eva", { level: "admin" });
    await app.api("PATCH", "/users/eva", { body: { role: "admin" } });
    const reader = await Reader.open(app, key, {}, "?everyone=true");
    await until(() => reader.comments > 0);
    await echo("before");
    await until(() => reader.events.length >= 2);
    await app.api("PATCH", "/users/eva", { body: { role: "user" } });
    await echo("after");
    await echo("eva's", key);
    await until(() => reader.events.length >= 4);
    expect(reader.events.map((each) => each.data.userId)).toEqual(["ann", "ann", "eva", "eva"]);
    reader.close();
  });

  test("ends its subscription when the client goes, and streams need a credential", async () => {
    const refused = await fetch(`${app.url}/api/v1/events`);
    expect(refused.status).toBe(401);
    const readers = await Promise.all(Array.from({ length: 5 }, () => Reader.open(app, ann)));
    for (const reader of readers) reader.close();
    await until(() => readers.every((reader) => reader.ended));
    expect((await echo("still here")).status).toBe(200);
  });
});
