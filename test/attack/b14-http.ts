// Requests that two readers understand differently, written byte by byte: to the raw reader for plain calls and to
// node:http.
import type { Attack, Case, Target } from "./attack.ts";
import { dial, hostOf, statuses } from "./wire.ts";

/** Long for an answer that takes a millisecond; a connection still open then is one that goes on reading. */
const LONG_MS = 8_000;
const CALL = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "system_echo", arguments: { text: "WAS-RUN" } },
});
const REST = JSON.stringify({ name: "system/echo", arguments: { text: "WAS-RUN" } });

interface Door {
  readonly name: string;
  readonly line: string;
  readonly body: string;
}
const RAW: Door = { name: "the raw reader", line: "POST /mcp HTTP/1.1", body: CALL };
const HTTP: Door = { name: "node:http", line: "POST /api/v1/executions HTTP/1.1", body: REST };

const headers = (target: Target, { body }: Door): string[] => [
  `Host: ${hostOf(target)}`,
  `Authorization: Bearer ${target.adminKey}`,
  "Content-Type: application/json",
  "Accept: application/json, text/event-stream",
  `Content-Length: ${body.length}`,
];
const written = (line: string, lines: readonly string[], body: string): string =>
  `${[line, ...lines].join("\r\n")}\r\n\r\n${body}`;

type Shape = (plain: { line: string; lines: string[]; body: string }, target: Target) => string;

/** Nothing of it runs, at either door; the connection ends, so that nothing behind it is read as a request. */
const refused = (name: string, shape: Shape): Case => ({
  name,
  async run(target) {
    for (const door of [RAW, HTTP]) {
      const raw = await dial(target);
      const plain = { line: door.line, lines: headers(target, door), body: door.body };
      raw.socket.write(shape(plain, target), "latin1");
      const isOver = await raw.over(LONG_MS);
      const { text } = raw;
      raw.close();
      const [first, ...others] = statuses(text);
      if (text.includes("WAS-RUN") || (first !== undefined && first < 400))
        return `${door.name} answered ${text.slice(0, 300)}`;
      if (first !== undefined && first >= 500 && first !== 501 && first !== 505)
        return `${door.name} failed: ${text.slice(0, 300)}`;
      if (others.length > 0) return `${door.name} read two requests: ${text.slice(0, 300)}`;
      if (!isOver) return `${door.name} kept the connection: ${text.slice(0, 300)}`;
    }
    return null;
  },
});

const also = (name: string, ...more: readonly string[]): Case =>
  refused(name, ({ line, lines, body }, target) =>
    written(line, [...lines, ...more.map((text) => text.replaceAll("{}", hostOf(target)))], body),
  );

const asLine = (name: string, line: (plain: string) => string): Case =>
  refused(name, (plain) => written(line(plain.line), plain.lines, plain.body));

const without = (lines: readonly string[], name: string): string[] =>
  lines.filter((line) => !line.toLowerCase().startsWith(`${name}:`));

const attack: Attack = {
  item: "B14",
  title: "a request that can be read in two ways is refused and its connection closed",
  cases: [
    also("a second Host of the same name", "Host: {}"),
    also("a second Host of another name", "Host: evil.example"),
    also("a second Host in other letters", "hOST: evil.example"),
    refused("no Host at all", ({ line, lines, body }) =>
      written(line, without(lines, "host"), body),
    ),
    asLine("HTTP/2.0 on the request line", (line) => line.replace("HTTP/1.1", "HTTP/2.0")),
    asLine("HTTP/1.2", (line) => line.replace("HTTP/1.1", "HTTP/1.2")),
    asLine("HTTP/0.9", (line) => line.replace(" HTTP/1.1", " HTTP/0.9")),
    asLine("no version", (line) => line.replace(" HTTP/1.1", "")),
    asLine("the version in small letters", (line) => line.replace("HTTP/1.1", "http/1.1")),
    asLine("the address of another host", (line) => line.replace(" /", " http://evil.example/")),
    asLine("a fragment in the target", (line) => line.replace(" HTTP", "#x HTTP")),
    asLine("a target that is no path", (line) => line.replace(" /", " evil.example/")),
    asLine("a NUL in the target", (line) => line.replace(" HTTP", "\0 HTTP")),
    asLine("a tab for the space", (line) => line.replace(" HTTP", "\tHTTP")),
    also(
      "the plain cookie beside the prefixed one",
      `Cookie: ostiary_session=${"a".repeat(43)}; __Host-ostiary_session=${"b".repeat(43)}`,
    ),
    also(
      "the plain cookie behind the prefixed one",
      `Cookie: __Host-ostiary_session=${"b".repeat(43)};ostiary_session=${"a".repeat(43)}`,
    ),
    also("two cookie headers", "Cookie: a=1", `Cookie: ostiary_session=${"a".repeat(43)}`),
    also("a length and chunks", "Transfer-Encoding: chunked"),
    also("a length and chunks by another name", "Transfer-Encoding: xchunked"),
    also("a second length", "Content-Length: 0"),
    also("two credentials", "Authorization: Bearer ost_other"),
    also("two content types", "Content-Type: text/plain"),
    also("a folded header", "X-Folded: a", " b"),
    also("a header without a colon", "X-None"),
    also("a control character in a value", "X-Odd: a\x01b"),
    also("a NUL in a value", "X-Odd: a\0b"),
    refused("a space before the colon", ({ line, lines, body }) =>
      written(
        line,
        lines.map((one) => one.replace("Host:", "Host :")),
        body,
      ),
    ),
    refused("a length with a sign", ({ line, lines, body }) =>
      written(
        line,
        lines.map((one) => one.replace("Content-Length: ", "Content-Length: +")),
        body,
      ),
    ),
    refused("a length as a list", ({ line, lines, body }) =>
      written(
        line,
        lines.map((one) => one.replace(/^(Content-Length): (\d+)$/, "$1: $2, $2")),
        body,
      ),
    ),
    refused("a chunk whose size is not one", ({ line, lines, body }) =>
      written(
        line,
        [...without(lines, "content-length"), "Transfer-Encoding: chunked"],
        `-${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      ),
    ),
    refused("another request in front of the length's end", ({ line, lines, body }) =>
      written(
        line,
        [...without(lines, "content-length"), "Content-Length: 4", "Transfer-Encoding: chunked"],
        `0\r\n\r\n${written(line, lines, body)}`,
      ),
    ),
    refused(
      "lines that end in a bare line feed",
      ({ line, lines, body }) => `${[line, ...lines, "Host: evil.example"].join("\n")}\n\n${body}`,
    ),
    refused("more headers than there is room for", ({ line, lines, body }) =>
      written(
        line,
        [...lines, ...Array.from({ length: 400 }, (_, i) => `X-${i}: ${"a".repeat(200)}`)],
        body,
      ),
    ),
    {
      name: "NUL and control characters in paths and queries",
      async run(target) {
        for (const [method, path] of [
          ["POST", "/executions/%00/cancel"],
          ["DELETE", "/approval-rules/%00"],
          ["GET", "/executions/%00"],
          ["GET", "/executions?user=%00"],
          ["DELETE", "/keys/a%00b"],
          ["GET", "/users/%0d%0a"],
          ["GET", "/tools/file/%7f"],
        ] as const) {
          const { status } = await target.api(method, path, method === "POST" ? { body: {} } : {});
          if (status < 400 || status >= 500) return `${method} ${path} was answered with ${status}`;
        }
        return null;
      },
    },
  ],
  control: {
    name: "plain calls at both doors, two on one connection",
    async run(target) {
      for (const door of [RAW, HTTP]) {
        const raw = await dial(target);
        const text = written(door.line, headers(target, door), door.body);
        raw.socket.write(text, "latin1");
        const ran = await raw.until(/WAS-RUN/, LONG_MS);
        raw.socket.write(text, "latin1");
        const again = await raw.until(/WAS-RUN[^]*WAS-RUN/, LONG_MS);
        raw.close();
        if (!ran || !again) return `${door.name} answered ${raw.text.slice(0, 500)}`;
      }
      return null;
    },
  },
};
export default attack;
