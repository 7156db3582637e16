// Requests that could be read in two ways, over the wire, at both doors of the listener.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { Wire } from "../fixtures/wire.ts";

const PIECE = Buffer.alloc(65_536, 0x20);
const BODY = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

describe.each([true, false])("with the raw reader: %s", (fastPath) => {
  let app: StartedApp;
  let host: string;
  beforeAll(async () => {
    app = await startApp({ fastPath });
    host = new URL(app.url).host;
  });
  afterAll(() => app.close());

  /** Status of the answer, and whether the connection ended with it. */
  async function sent(text: string): Promise<{ status: number; rest: string; text: string }> {
    const wire = await Wire.open(app.url);
    try {
      const all = await wire.send(text).rest();
      return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(all)?.[1] ?? 0), rest: "", text: all };
    } finally {
      wire.close();
    }
  }
  const post = (line: string, headers: readonly string[]): string =>
    `${[line, ...headers, `Authorization: Bearer ${app.adminKey}`, "Content-Type: application/json", "Accept: application/json, text/event-stream", `Content-Length: ${BODY.length}`].join("\r\n")}\r\n\r\n${BODY}`;
  const get = (headers: readonly string[], line = "GET /healthz HTTP/1.1"): string =>
    `${[line, ...headers].join("\r\n")}\r\n\r\n`;

  test("B14: a plain request is answered", async () => {
    const wire = await Wire.open(app.url);
    expect((await wire.send(get([`Host: ${host}`])).answer()).status).toBe(200);
    expect(
      (await wire.send(get([`Host: ${host}`], `GET http://${host}/healthz HTTP/1.1`)).answer())
        .status,
    ).toBe(200);
    expect(
      (
        await wire
          .send(get([`Host: ${host}`, "Cookie: other=1; __Host-ostiary_session=x"]))
          .answer()
      ).status,
    ).toBe(200);
    wire.close();
  });

  test("B12: the fifth request without an answer on one connection is refused", async () => {
    const wire = await Wire.open(app.url);
    const ask = get(
      [`Host: ${host}`, `Authorization: Bearer ${app.adminKey}`],
      "GET /api/v1/whoami HTTP/1.1",
    );
    wire.send(ask.repeat(6));
    const answers = [];
    for (let at = 0; at < 6; at++) answers.push(await wire.answer());
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429]);
    expect(JSON.parse(answers[4]?.body ?? "")).toMatchObject({ reason: "concurrency" });
    // Whoever waits for the answers goes on.
    expect((await wire.send(ask).answer()).status).toBe(200);
    wire.close();
  });

  test("B11: who goes on writing a body that is too large reads why it is refused", async () => {
    const head = (path: string): string =>
      `${[
        `POST ${path} HTTP/1.1`,
        `Host: ${host}`,
        `Authorization: Bearer ${app.adminKey}`,
        "Content-Type: application/json",
        `Content-Length: ${1024 * PIECE.length}`,
      ].join("\r\n")}\r\n\r\n`;
    for (const path of ["/mcp", "/api/v1/executions", "/mcp", "/mcp"]) {
      const wire = await Wire.open(app.url);
      const answered = wire.answer();
      let isAnswered = false;
      const over = answered.finally(() => (isAnswered = true));
      wire.send(head(path));
      for (let sent = 0; sent < 1024 && !isAnswered; sent++)
        if (!wire.socket.write(PIECE))
          await Promise.race([over, new Promise((ready) => wire.socket.once("drain", ready))]);
      expect((await answered).status).toBe(413);
      wire.close();
    }
  });

  const doubled: Record<string, readonly string[]> = {
    "two Host headers": ["Host: {}", "Host: {}"],
    "another Host behind it": ["Host: {}", "Host: evil.example"],
    "another Host before it, in other letters": ["hOsT: evil.example", "Host: {}"],
    "two lengths": ["Host: {}", `Content-Length: ${BODY.length}`],
    "two content types": ["Host: {}", "Content-Type: text/plain"],
    "two credentials": ["Host: {}", "Authorization: Bearer ost_other"],
    "two origins": ["Host: {}", "Origin: http://{}", "Origin: http://evil.example"],
    "two Mcp headers": ["Host: {}", "Mcp-Method: tools/list", "Mcp-Method: tools/call"],
    "two session ids": ["Host: {}", "Mcp-Session-Id: a", "mcp-session-id: b"],
    "two cookie headers": ["Host: {}", "Cookie: a=1", "Cookie: ostiary_session=x"],
    "both session cookies": [
      "Host: {}",
      `Cookie: ostiary_session=${"a".repeat(43)}; __Host-ostiary_session=${"b".repeat(43)}`,
    ],
    "both session cookies, the other way round": [
      "Host: {}",
      `Cookie: __Host-ostiary_session=${"b".repeat(43)};ostiary_session=${"a".repeat(43)}`,
    ],
    "one session cookie twice": ["Host: {}", "Cookie: ostiary_session=x; ostiary_session=y"],
    "a length and chunks": ["Host: {}", "Transfer-Encoding: chunked"],
    "a folded line": ["Host: {}", "X-Folded: a", " b"],
    "a space before the colon": ["Host : {}"],
    "no Host": [],
  };
  test.each(Object.entries(doubled))("B14: refused and closed: %s", async (_name, headers) => {
    const lines = headers.map((line) => line.replaceAll("{}", host));
    const answer = await sent(post("POST /mcp HTTP/1.1", lines));
    expect(answer.status).toBe(400);
    expect(answer.text.toLowerCase()).toContain("connection: close");
  });

  const LINES = [
    "POST /mcp HTTP/2.0",
    "POST /mcp HTTP/1.2",
    "POST /mcp HTTP/3",
    "POST /mcp HTTP/3.0",
    "POST /mcp HTTP/0.9",
    "POST /mcp HTTP/11.1",
    "POST /mcp http/1.1",
    "POST /mcp HTTPS/1.1",
    "POST /mcp",
    "POST /mcp HTTP/1.1 x",
    "POST http://evil.example/mcp HTTP/1.1",
    "POST evil.example/mcp HTTP/1.1",
    "POST /mcp#x HTTP/1.1",
    "POST * HTTP/1.1",
    "post /mcp HTTP/1.1",
  ];
  test.each(LINES)("B14: refused and closed: %s", async (line) => {
    const answer = await sent(post(line, [`Host: ${host}`]));
    expect(answer.status).toBe(400);
    expect(answer.text.toLowerCase()).toContain("connection: close");
  });
});
