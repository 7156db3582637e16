// Requests that two parsers may read differently: one answer, an error, and the connection is closed.
import { openCount, type Probe } from "../figure.ts";
import { raw, UNLIMITED, type Came } from "./shared.ts";

const SECOND = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
const CLOSE_LIMIT_MS = 40_000;

type Requests = Readonly<Record<string, string>>;

/** `POST` with these lines before the end of its head, and what follows. */
const post = (lines: string, after: string): string =>
  `POST /api/v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${lines}\r\n${after}`;
const get = (lines: string): string => `GET /healthz HTTP/1.1\r\n${lines}\r\n`;

const CASES: Requests = {
  "content-length and transfer-encoding": post(
    "content-length: 5\r\ntransfer-encoding: chunked\r\n",
    `0\r\n\r\n${SECOND}`,
  ),
  "transfer-encoding and content-length": post(
    "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
    `0\r\n\r\n${SECOND}`,
  ),
  "two lengths that differ": post("content-length: 0\r\ncontent-length: 44\r\n", SECOND),
  "two lengths in one line": post("content-length: 0, 44\r\n", SECOND),
  "a length with a plus": post("content-length: +0\r\n", SECOND),
  "a negative length": post("content-length: -1\r\n", SECOND),
  "a length in hex": post("content-length: 0x0\r\n", SECOND),
  "a length of many digits": post("content-length: 18446744073709551616\r\n", SECOND),
  "a length with a space inside": post("content-length: 0 0\r\n", SECOND),
  "an unknown coding": post("transfer-encoding: xchunked\r\n", `0\r\n\r\n${SECOND}`),
  "chunked twice": post("transfer-encoding: chunked, chunked\r\n", `0\r\n\r\n${SECOND}`),
  "chunked and then another": post(
    "transfer-encoding: chunked, identity\r\n",
    `0\r\n\r\n${SECOND}`,
  ),
  "chunked after a vertical tab": post(
    "transfer-encoding: \u000bchunked\r\n",
    `0\r\n\r\n${SECOND}`,
  ),
  "a space before the colon": post("content-length : 0\r\n", SECOND),
  "a folded line": post("x-a: 1\r\n content-length: 44\r\n", SECOND),
  "a line without a colon": post("nonsense\r\n", SECOND),
  "NUL in a header": post("x-a: a\u0000b\r\n", SECOND),
  "a lone CR in a header": post("x-a: a\rb: c\r\n", SECOND),
  "lines that end with LF alone": `POST /api/v1/executions HTTP/1.1\nhost: localhost\ncontent-length: 0\n\n${SECOND}`,
  "a chunk size that is none": post(
    "transfer-encoding: chunked\r\n",
    `zz\r\n\r\n0\r\n\r\n${SECOND}`,
  ),
  "a chunk size too large": post(
    "transfer-encoding: chunked\r\n",
    `ffffffffffffffff1\r\nx\r\n0\r\n\r\n${SECOND}`,
  ),
  "a chunk size with a minus": post(
    "transfer-encoding: chunked\r\n",
    `-1\r\nx\r\n0\r\n\r\n${SECOND}`,
  ),
  "a chunk longer than it says": post(
    "transfer-encoding: chunked\r\n",
    `1\r\nxyz\r\n0\r\n\r\n${SECOND}`,
  ),
  "a chunk line that ends with LF": post(
    "transfer-encoding: chunked\r\n",
    `1\nx\r\n0\r\n\r\n${SECOND}`,
  ),
  "no host": get("x-a: 1\r\n") + SECOND,
  "two hosts": get("host: localhost\r\nhost: evil.example\r\n") + SECOND,
  "two equal hosts": get("host: localhost\r\nhost: localhost\r\n") + SECOND,
  "a host with a path": get("host: localhost/evil\r\n") + SECOND,
  "a host of somebody else": get("host: evil.example\r\n"),
  "an address of somebody else": `GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "HTTP/2.0 on the first line": `GET /healthz HTTP/2.0\r\nhost: localhost\r\n\r\n${SECOND}`,
  "HTTP/1.9": `GET /healthz HTTP/1.9\r\nhost: localhost\r\n\r\n${SECOND}`,
  "no version": `GET /healthz\r\n\r\n${SECOND}`,
  "a tab on the first line": `GET\t/healthz\tHTTP/1.1\r\nhost: localhost\r\n\r\n${SECOND}`,
  "an unknown method": `G@T /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n${SECOND}`,
  CONNECT: `CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: localhost\r\n\r\n`,
  "a head of 100 kB": get(`host: localhost\r\nx-a: ${"a".repeat(100_000)}\r\n`) + SECOND,
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a hello of TLS": "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
};
/** No answer is promised to what is no HTTP at all. */
const NO_ANSWER_NEEDED = new Set(["a hello of TLS", "CONNECT", "the preface of HTTP/2"]);

/** Read the same by everybody: refused, and what follows may be served. */
const PLAIN = new Set([
  "a host of somebody else",
  "an address of somebody else",
  "a host with a path",
]);

const probe: Probe = async ({ open }) => {
  const target = await open(UNLIMITED);
  const count = openCount("requests");
  const clean = async (): Promise<boolean> => (await fetch(`${target.url}/healthz`)).status === 200;
  count.control(await clean(), "a clean request before got no 200");
  const judged = await Promise.all(
    Object.entries(CASES).map(
      async ([name, bytes]) =>
        [name, fault(name, await raw(target.url, bytes, CLOSE_LIMIT_MS))] as const,
    ),
  );
  for (const [name, what] of judged) count.add(what === null ? null : `${name}: ${what}`);
  count.control(await clean(), "a clean request afterwards got no 200");
  return count.figure();
};
export default probe;

function fault(name: string, { text, isClosed }: Came): string | null {
  const statuses = [...text.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map(([, status]) =>
    Number(status),
  );
  const [first] = statuses;
  if (first === undefined) {
    if (!isClosed) return "neither answered nor closed";
    return NO_ANSWER_NEEDED.has(name) ? null : "closed without an answer";
  }
  if (first < 400) return `answered with ${first}`;
  if (PLAIN.has(name)) return null;
  if (statuses.length > 1) return `${statuses.length} answers: ${statuses.join(", ")}`;
  return isClosed ? null : `answered with ${first}, and the connection stayed open`;
}
