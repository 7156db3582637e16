import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidResponse, KEEP_MS, type ResponseHead } from "./response-head.ts";
import { ResponseReader } from "./response-reader.ts";

interface Heard {
  head: Pick<ResponseHead, "status" | "headers" | "keepMs"> | null;
  body: string;
  /** What was told, without repeats of data. */
  order: string;
  refused: string | null;
}

const MAX_HEAD = 400;

/**
 * What a reader makes of these pieces. They lie in the same memory one after the other, as those of a connection do.
 */
function heard(pieces: readonly Buffer[], { method = "GET", closes = false } = {}): Heard {
  const told: Heard = { head: null, body: "", order: "", refused: null };
  const tell = (what: string): void => void (told.order.endsWith(what) || (told.order += what));
  const reader = new ResponseReader(MAX_HEAD, {
    head({ status, headers, keepMs }) {
      tell("head ");
      told.head = { status, headers: { ...headers }, keepMs };
    },
    data(bytes) {
      expect(bytes.length).toBeGreaterThan(0);
      tell("data ");
      told.body += bytes.toString("latin1");
    },
    end: (isClean) => tell(isClean ? "clean end " : closes ? "end " : "dirty end "),
  });
  reader.expect(method);
  const lent = Buffer.alloc(Math.max(1, ...pieces.map((piece) => piece.length)));
  try {
    for (const piece of pieces) {
      reader.read(lent.subarray(0, piece.copy(lent)));
      lent.fill("?");
    }
    if (closes && !reader.closed()) told.refused = "closed early";
  } catch (cause) {
    if (!(cause instanceof InvalidResponse)) throw cause;
    told.refused = cause.message;
  }
  return told;
}

const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");

/** Whole, in two pieces cut at every place, and byte by byte. */
function* cuts(bytes: Buffer): Generator<Buffer[]> {
  yield [bytes];
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

interface Valid {
  readonly bytes: string;
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly keepMs?: number;
  readonly method?: string;
  /** It ends with the connection. */
  readonly closes?: true;
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

const VALID: Record<string, Valid> = {
  "a length": { bytes: `${OK}content-length: 5\r\n\r\nhello`, body: "hello" },
  "a length of nothing": { bytes: `${OK}content-length: 0\r\n\r\n` },
  "a length with zeros and blanks around": {
    bytes: `${OK}content-length:   005  \r\n\r\nhello`,
    body: "hello",
  },
  "a body of line ends and zeros": {
    bytes: `${OK}content-length: 9\r\n\r\n\r\n\r\n\0\n\r\n\0`,
    body: "\r\n\r\n\0\n\r\n\0",
  },
  chunks: { bytes: `${CHUNKED}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`, body: "hello world" },
  "chunks in words of any case": {
    bytes: `${OK}Transfer-ENCODING: Chunked\r\n\r\n0000000A\r\n0123456789\r\na\r\n0123456789\r\n00\r\n\r\n`,
    body: "01234567890123456789",
    headers: { "transfer-encoding": "Chunked" },
  },
  "chunks with extensions": {
    bytes: `${CHUNKED}5;a;b=c;d="e;f"\r\nhello\r\n0;z\r\n\r\n`,
    body: "hello",
  },
  "chunks of line ends": {
    bytes: `${CHUNKED}4\r\n\r\n\r\n\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n`,
    body: "\r\n\r\n0\r\n\r\n",
  },
  "chunks and trailers": {
    bytes: `${CHUNKED}1\r\nx\r\n0\r\ndigest: abc\r\nempty:\r\n\r\n`,
    body: "x",
  },
  "no chunk but the last": { bytes: `${CHUNKED}0\r\n\r\n` },
  "the end of the connection": {
    bytes: `${OK}\r\nhello\r\n\r\n`,
    body: "hello\r\n\r\n",
    closes: true,
    keepMs: 0,
  },
  "the end of the connection, without a body": {
    bytes: `${OK}a: b\r\n\r\n`,
    headers: { a: "b" },
    closes: true,
    keepMs: 0,
  },
  "interim answers before it": {
    bytes: `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
    body: "ok",
    headers: { "content-length": "2" },
  },
  "HEAD and a length": { bytes: `${OK}content-length: 5\r\n\r\n`, method: "HEAD" },
  "HEAD and chunks": { bytes: CHUNKED, method: "HEAD" },
  "HEAD and neither": { bytes: `${OK}\r\n`, method: "HEAD", headers: {} },
  "204": { bytes: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, headers: {} },
  "204 and a length of nothing": {
    bytes: "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
    status: 204,
  },
  "204 and a length that means nothing": {
    bytes: "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n",
    status: 204,
    keepMs: 0,
  },
  "304 and the length of what it stands for": {
    bytes: "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n",
    status: 304,
  },
  "205 with a body": {
    bytes: "HTTP/1.1 205 Reset Content\r\ncontent-length: 1\r\n\r\nx",
    status: 205,
    body: "x",
  },
  "HTTP/1.0 with a length": {
    bytes: "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    body: "ok",
    keepMs: 0,
  },
  "HTTP/1.0 that would be kept": {
    bytes: "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok",
    body: "ok",
    keepMs: 0,
  },
  "HTTP/1.0 that ends with the connection": {
    bytes: "HTTP/1.0 404 Gone\r\n\r\nno",
    status: 404,
    body: "no",
    closes: true,
    keepMs: 0,
  },
  "no reason": { bytes: "HTTP/1.1 500\r\ncontent-length: 0\r\n\r\n", status: 500 },
  "an empty reason": { bytes: "HTTP/1.1 599 \r\ncontent-length: 0\r\n\r\n", status: 599 },
  "a reason in Latin-1": { bytes: "HTTP/1.1 200 d\xe9j\xe0 vu\r\ncontent-length: 0\r\n\r\n" },
  "headers more than once": {
    bytes: `${OK}content-length: 0\r\nset-cookie: a\r\nSet-Cookie: b\r\nSET-COOKIE: \r\n\r\n`,
    headers: { "content-length": "0", "set-cookie": ["a", "b", ""] },
  },
  "a header in Latin-1 with blanks and colons": {
    bytes: `${OK}content-length: 0\r\nx-a:  \xe9: \t b \r\n\r\n`,
    headers: { "content-length": "0", "x-a": "\xe9: \t b" },
  },
  "a hint of how long it is kept": {
    bytes: `${OK}content-length: 0\r\nkeep-alive: timeout=7, max=3\r\n\r\n`,
    keepMs: 6_000,
  },
  "a hint in other words": {
    bytes: `${OK}content-length: 0\r\nKeep-Alive: max=3, Timeout=60\r\n\r\n`,
    keepMs: 59_000,
  },
  "a hint that is longer than anything": {
    bytes: `${OK}content-length: 0\r\nkeep-alive: timeout=999999\r\n\r\n`,
    keepMs: 600_000,
  },
  "a hint that is not understood": {
    bytes: `${OK}content-length: 0\r\nkeep-alive: timeout=soon\r\n\r\n`,
    keepMs: KEEP_MS,
  },
  "a hint that it is not kept": {
    bytes: `${OK}content-length: 0\r\nkeep-alive: timeout=0\r\n\r\n`,
    keepMs: 0,
  },
  "an end of the connection after it": {
    bytes: `${OK}content-length: 0\r\nconnection: close\r\n\r\n`,
    keepMs: 0,
  },
  "an end of the connection among other words": {
    bytes: `${OK}content-length: 0\r\nconnection: x-a\r\nConnection: x-b , Close\r\n\r\n`,
    keepMs: 0,
  },
  "a connection that is kept": {
    bytes: `${OK}content-length: 0\r\nconnection: Keep-Alive\r\n\r\n`,
  },
  "a head as long as it may be": {
    bytes: `${OK}content-length: 0\r\nx: ${"x".repeat(MAX_HEAD - OK.length - 22)}\r\n\r\n`,
  },
};

describe("answers", () => {
  test.each(Object.entries(VALID))("with %s", (_name, valid) => {
    const { bytes, status = 200, body = "", method = "GET", closes, keepMs = KEEP_MS } = valid;
    const order = `head ${body === "" ? "" : "data "}${closes ? "" : "clean "}end `;
    const whole = heard([bytesOf(bytes)], { method, closes: closes === true });
    expect(whole).toMatchObject({ head: { status, keepMs }, body, order, refused: null });
    if (valid.headers) expect(whole.head?.headers).toEqual(valid.headers);
    for (const pieces of cuts(bytesOf(bytes)))
      expect(heard(pieces, { method, closes: closes === true })).toEqual(whole);
  });

  test("come one after the other, each to its own request", () => {
    const told: string[] = [];
    const answers = Object.values(VALID).filter(({ closes }) => !closes);
    const reader = new ResponseReader(MAX_HEAD, {
      head: ({ status }) => told.push(`${status} `),
      data: (bytes) => told.push(bytes.toString("latin1")),
      end: () => told.push("|"),
    });
    for (const { bytes, method = "GET" } of answers) {
      reader.expect(method);
      for (const byte of bytesOf(bytes)) reader.read(Buffer.of(byte));
    }
    expect(told.join("")).toBe(
      answers.map(({ status = 200, body = "" }) => `${status} ${body}|`).join(""),
    );
  });

  test("have limits of their own, however many came before", () => {
    let ends = 0;
    const reader = new ResponseReader(MAX_HEAD, {
      head: () => undefined,
      data: () => undefined,
      end: () => void ends++,
    });
    for (let count = 1; count <= 3; count++) {
      reader.expect("GET");
      reader.read(bytesOf("HTTP/1.1 102 Processing\r\n\r\n".repeat(16)));
      reader.read(bytesOf(`${CHUNKED}0\r\n${"a: b\r\n".repeat(MAX_HEAD / 8)}\r\n`));
      expect(ends).toBe(count);
    }
  });

  test("a name that objects have of their own is a header like any other", () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    const lines = names.map((name) => `${name}: polluted\r\n`).join("");
    const { head } = heard([bytesOf(`${OK}${lines}content-length: 0\r\n\r\n`)]);
    expect(Object.entries(head?.headers ?? {})).toEqual([
      ...names.map((name) => [name.toLowerCase(), "polluted"]),
      ["content-length", "0"],
    ]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test.each(Object.entries(VALID).filter(([, { closes }]) => !closes))(
    "cut short are no answers: with %s",
    (_name, { bytes, method = "GET" }) => {
      for (let at = 0; at < bytes.length; at++) {
        const told = heard([bytesOf(bytes.slice(0, at))], { method, closes: true });
        expect([at, told.refused, told.order]).toEqual([
          at,
          "closed early",
          expect.not.stringContaining("end"),
        ]);
      }
    },
  );

  test.each(Object.entries(VALID).filter(([, { closes }]) => !closes))(
    "with more after them do not leave the connection to others: with %s",
    (_name, { bytes, method = "GET" }) => {
      for (const more of ["\r\n", "x", OK]) {
        for (const pieces of cuts(bytesOf(bytes + more))) {
          const told = heard(pieces, { method });
          expect(
            told.order.includes("dirty end") || told.refused === "it says more than it was asked",
          ).toBe(true);
          expect(told.order.match(/end/g)).toHaveLength(1);
        }
      }
    },
  );
});

const LENGTH = "content-length: 5\r\n";
const HEAD_REFUSED: Record<string, string> = {
  "a length and chunks": `${OK}${LENGTH}transfer-encoding: chunked\r\n\r\nhello`,
  "chunks and a length": `${OK}transfer-encoding: chunked\r\n${LENGTH}\r\n0\r\n\r\n`,
  "two lengths that differ": `${OK}${LENGTH}content-length: 6\r\n\r\nhello!`,
  "the same length twice": `${OK}${LENGTH}${LENGTH}\r\nhello`,
  "two lengths in a line": `${OK}content-length: 5, 5\r\n\r\nhello`,
  "an empty length": `${OK}content-length: \r\n\r\nhello`,
  "a length with a sign": `${OK}content-length: +5\r\n\r\nhello`,
  "a negative length": `${OK}content-length: -5\r\n\r\nhello`,
  "a length in hex": `${OK}content-length: 0x5\r\n\r\nhello`,
  "a length with a fraction": `${OK}content-length: 5.0\r\n\r\nhello`,
  "a length with an exponent": `${OK}content-length: 5e0\r\n\r\nhello`,
  "a length with a blank inside": `${OK}content-length: 5 5\r\n\r\nhello`,
  "a length beside a tab": `${OK}content-length: 5\t\r\n\r\nhello`,
  "a length beyond what numbers hold": `${OK}content-length: 99999999999999999999\r\n\r\nhello`,
  "another encoding": `${OK}transfer-encoding: gzip\r\n\r\nhello`,
  "another encoding and chunks": `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  "chunks twice": `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  "chunks twice in a line": `${OK}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
  "chunks beside a tab": `${OK}transfer-encoding: chunked\t\r\n\r\n0\r\n\r\n`,
  "chunks that are none": `${OK}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
  "chunks in quotes": `${OK}transfer-encoding: "chunked"\r\n\r\n0\r\n\r\n`,
  "chunks behind a vertical tab": `${OK}transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
  "an empty encoding": `${OK}transfer-encoding:\r\n\r\n0\r\n\r\n`,
  "chunks in HTTP/1.0": `HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  "a header of several lines": `${OK}${LENGTH}a: b\r\n c: d\r\n\r\nhello`,
  "a length on a second line": `${OK}content-length:\r\n 5\r\n\r\nhello`,
  "a blank before the first header": `${OK} ${LENGTH}\r\nhello`,
  "a blank before the colon": `${OK}content-length : 5\r\n\r\nhello`,
  "a tab before the colon": `${OK}transfer-encoding\t: chunked\r\n\r\n0\r\n\r\n`,
  "a header without a colon": `${OK}${LENGTH}nothing\r\n\r\nhello`,
  "a header without a name": `${OK}${LENGTH}: b\r\n\r\nhello`,
  "a name in Latin-1": `${OK}${LENGTH}\xe9: b\r\n\r\nhello`,
  "a name with a zero": `${OK}${LENGTH}a\0: b\r\n\r\nhello`,
  "a value with a zero": `${OK}${LENGTH}a: \0\r\n\r\nhello`,
  "a value with DEL": `${OK}${LENGTH}a: \x7f\r\n\r\nhello`,
  "a zero in the status": `HTTP/1.1 200 O\0K\r\n${LENGTH}\r\nhello`,
  "an LF alone in the status": `HTTP/1.1 200 OK\n${LENGTH}\r\nhello`,
  "an LF alone in a value": `${OK}a: b\n${LENGTH}\r\nhello`,
  "an LF alone in a name": `${OK}a\nb: c\r\n${LENGTH}\r\nhello`,
  "a CR alone in the status": `HTTP/1.1 200 OK\r${LENGTH}\r\n\r\nhello`,
  "a CR alone in a value": `${OK}a: b\r${LENGTH}\r\nhello`,
  "a CR alone in a name": `${OK}a\rb: c\r\n${LENGTH}\r\nhello`,
  "an end of LF and CRLF": `${OK}${LENGTH.trimEnd()}\n\r\n\r\nhello`,
  "an end of CR and CRLF": `${OK}${LENGTH.trimEnd()}\r\r\n\r\nhello`,
  "an empty line first": `\r\n${OK}${LENGTH}\r\nhello`,
  "nothing but an empty line": "\r\n\r\n",
  "HTTP/0.9": "<html>hello</html>\r\n\r\n",
  "HTTP/2": "HTTP/2.0 200 OK\r\n\r\n",
  "HTTP/1.2": "HTTP/1.2 200 OK\r\n\r\n",
  "HTTP in small letters": "http/1.1 200 OK\r\n\r\n",
  "another protocol": "ICY 200 OK\r\n\r\n",
  "two blanks before the status": "HTTP/1.1  200 OK\r\n\r\n",
  "a tab before the status": "HTTP/1.1\t200 OK\r\n\r\n",
  "a status of two digits": "HTTP/1.1 20 OK\r\n\r\n",
  "a status of four digits": "HTTP/1.1 2000 OK\r\n\r\n",
  "a status in hex": "HTTP/1.1 2f0 OK\r\n\r\n",
  "a status of nothing": "HTTP/1.1 000 OK\r\n\r\n",
  "a status that no class has": "HTTP/1.1 600 OK\r\n\r\n",
  "another protocol from now on":
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
  "an interim answer with a length": `HTTP/1.1 103 Early Hints\r\n${LENGTH}\r\n${OK}content-length: 0\r\n\r\n`,
  "an interim answer with chunks": `HTTP/1.1 150 X\r\ntransfer-encoding: chunked\r\n\r\n${OK}content-length: 0\r\n\r\n`,
  "an interim answer in HTTP/1.0": `HTTP/1.0 100 Continue\r\n\r\n${OK}content-length: 0\r\n\r\n`,
  "an interim answer that is the last": `HTTP/1.1 100 Continue\r\nconnection: close\r\n\r\n${OK}content-length: 0\r\n\r\n`,
  "interim answers without end": "HTTP/1.1 102 Processing\r\n\r\n".repeat(17),
  "a head that is too long": `${OK}content-length: 0\r\nx: ${"x".repeat(MAX_HEAD - OK.length - 21)}\r\n\r\n`,
  "a head without end": `${OK}${"a: b\r\n".repeat(MAX_HEAD / 6)}`,
  "a status without end": "HTTP/1.1 200 ".padEnd(MAX_HEAD + 4, "x"),
};

const BODY_REFUSED: Record<string, string> = {
  "an empty size": "\r\nhello",
  "an empty size with an extension": ";a\r\nhello",
  "a negative size": "-5\r\nhello",
  "a size with a sign": "+5\r\nhello",
  "a size with a prefix": "0x5\r\nhello",
  "a size after a blank": " 5\r\nhello",
  "a size before a blank": "5 \r\nhello",
  "a size before a tab": "5\t\r\nhello",
  "a size with a blank before its extension": "5 ;a\r\nhello",
  "a size in no system": "5g\r\nhello",
  "a size of too many digits": "000000005\r\nhello",
  "a size that numbers do not hold": "FFFFFFFFFFFFFFFFF\r\nhello",
  "a zero in a size": "5\0\r\nhello",
  "a zero in an extension": "5;\0\r\nhello",
  "an extension that is no word": "5;a b\r\nhello",
  "an extension with an open quote": '5;a="b\r\nhello',
  "an LF alone after a size": "5\nhello\r\n0\r\n\r\n",
  "a CR alone after a size": "5\rhello\r\n0\r\n\r\n",
  "an LF alone in an extension": "5;a\nb\r\nhello\r\n0\r\n\r\n",
  "a CR alone in an extension": "5;a\rb\r\nhello\r\n0\r\n\r\n",
  "a size line without end": `5;${"a".repeat(300)}`,
  "a chunk that is longer than it says": "5\r\nhello!\r\n0\r\n\r\n",
  "a chunk that is shorter than it says": "6\r\nhello\r\n0\r\n\r\n",
  "no line end after a chunk": "5\r\nhello0\r\n\r\n",
  "an LF alone after a chunk": "5\r\nhello\n0\r\n\r\n",
  "a CR alone after a chunk": "5\r\nhello\r0\r\n\r\n",
  "a trailer without a colon": "0\r\nnothing\r\n\r\n",
  "a length as a trailer": "0\r\nContent-Length: 5\r\n\r\n",
  "an encoding as a trailer": "0\r\na: b\r\ntransfer-encoding: chunked\r\n\r\n",
  "a trailer of several lines": "0\r\na: b\r\n c\r\n\r\n",
  "a trailer with a blank before the colon": "0\r\na : b\r\n\r\n",
  "a trailer with a zero": "0\r\na: \0\r\n\r\n",
  "a trailer with an LF alone": "0\r\na: b\n\r\n",
  "a trailer with a CR alone": "0\r\na: b\rc\r\n\r\n",
  "an LF alone at the end": "0\r\n\n",
  "an LF alone after the last size": "0\n\r\n",
  "a trailer that is too long": `0\r\na: ${"x".repeat(MAX_HEAD)}\r\n\r\n`,
  "trailers that are too many": `0\r\n${"a: b\r\n".repeat(MAX_HEAD / 5)}\r\n`,
  "trailers without end": `0\r\n${"a".repeat(MAX_HEAD + 1)}`,
};

describe("refused wherever it is cut", () => {
  test.each(Object.entries(HEAD_REFUSED))("%s", (_name, bytes) => {
    for (const pieces of cuts(bytesOf(bytes)))
      expect(heard(pieces)).toEqual({
        head: null,
        body: "",
        order: "",
        refused: expect.any(String) as string,
      });
  });

  test.each(Object.entries(BODY_REFUSED))("%s", (_name, body) => {
    const bytes = bytesOf(`${CHUNKED}2\r\nok\r\n${body}`);
    const whole = heard([bytes]);
    expect(whole).toMatchObject({ order: "head data ", refused: expect.any(String) as string });
    for (const pieces of cuts(bytes)) expect(heard(pieces)).toEqual(whole);
  });

  test("whatever comes while nothing was asked", () => {
    const never = (): never => {
      throw new Error("nothing was asked");
    };
    const reader = new ResponseReader(MAX_HEAD, { head: never, data: never, end: never });
    expect(() => reader.read(bytesOf(OK))).toThrow(InvalidResponse);
    reader.read(Buffer.alloc(0));
  });

  test("nothing more is told once it was stopped, at whatever point", () => {
    for (const { bytes, method = "GET" } of Object.values(VALID)) {
      for (const last of ["head", "data"]) {
        const told: string[] = [];
        const tell = (what: string): void => {
          told.push(what);
          if (what === last) reader.stop();
        };
        const reader: ResponseReader = new ResponseReader(MAX_HEAD, {
          head: () => tell("head"),
          data: () => tell("data"),
          end: () => tell("end"),
        });
        reader.expect(method);
        reader.read(bytesOf(bytes));
        if (!told.includes(last)) continue;
        expect(reader.closed()).toBe(false);
        expect(told.indexOf(last)).toBe(told.length - 1);
      }
    }
  });
});

describe("any answer", () => {
  const TOKEN = [..."!#$%&'*+-.^_`|~09azAZ"];
  const name = fc
    .string({ unit: fc.constantFrom(...TOKEN), minLength: 1, maxLength: 8 })
    .map((text) => `x${text}`);
  const value = fc.string({
    unit: fc
      .integer({ min: 0x21, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 12,
  });
  const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { maxLength: 6 });

  test("comes out as it was written, in chunks or with a length, however it is cut and paused", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
        fc.array(fc.tuple(name, value), { maxLength: 8 }),
        bodies,
        fc.constantFrom("length", "chunks", "close"),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
        (status, headers, parts, framing, sizes, pauses) => {
          const body = Buffer.concat(parts);
          const framed =
            framing === "length"
              ? `content-length: ${body.length}\r\n`
              : framing === "chunks"
                ? "transfer-encoding: chunked\r\n"
                : "";
          const head = bytesOf(
            `HTTP/1.1 ${status} R\r\n${headers.map(([key, text]) => `${key}: ${text}\r\n`).join("")}${framed}\r\n`,
          );
          const chunks = parts.flatMap((part) => [
            bytesOf(`${part.length.toString(16)};e=1\r\n`),
            Buffer.from(part),
            bytesOf("\r\n"),
          ]);
          const bytes = Buffer.concat([
            head,
            ...(framing === "chunks" ? [...chunks, bytesOf("0\r\nt: u\r\n\r\n")] : [body]),
          ]);
          const told: Buffer[] = [];
          const order: unknown[] = [];
          let turn = 0;
          const rest = (): void => void (reader.isPaused = pauses[turn++ % pauses.length] === true);
          const reader: ResponseReader = new ResponseReader(2_000, {
            head: (got) => {
              order.push(got.status, { ...got.headers });
              rest();
            },
            data: (got) => {
              expect(reader.isPaused).toBe(false);
              told.push(Buffer.from(got));
              rest();
            },
            end: (isClean) => order.push(isClean),
          });
          const goOn = (): void => {
            reader.isPaused = false;
            reader.read(Buffer.alloc(0));
          };
          reader.expect("GET");
          for (let at = 0, cut = 0; at < bytes.length; cut++) {
            const size = sizes[cut % sizes.length] ?? 1;
            reader.read(Buffer.from(bytes.subarray(at, at + size)));
            at += size;
            if (pauses[cut % pauses.length]) goOn();
          }
          for (let left = bytes.length; reader.isPaused && left >= 0; left--) goOn();
          expect(reader.closed()).toBe(framing === "close");
          const expected: Record<string, string | string[]> = {};
          for (const [key, text] of [
            ...headers,
            ...(framed === "" ? [] : [framed.trim().split(": ") as [string, string]]),
          ]) {
            const [lower, before] = [key.toLowerCase(), expected[key.toLowerCase()]];
            expected[lower] = before === undefined ? text : [before, text].flat();
          }
          expect(order).toEqual([status, expected, framing !== "close"]);
          expect(Buffer.concat(told).equals(body)).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("of random bytes is refused or told, never anything else", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom("", OK, CHUNKED),
        (noise, before) => {
          const bytes = Buffer.concat([bytesOf(before), noise]);
          const whole = heard([bytes], { closes: true });
          const single = heard(
            Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
            { closes: true },
          );
          expect(single).toEqual(whole);
        },
      ),
      { numRuns: 500 },
    );
  });
});
