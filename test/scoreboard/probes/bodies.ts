// Bodies of all sizes on every door that takes one: too large is 413, and memory stays.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Wire } from "../../fixtures/wire.ts";
import { openCount, type Probe } from "../figure.ts";
import { UNLIMITED } from "./shared.ts";

const LIMIT = 1_048_576;
const ROOM = 64 * 1_048_576;
const ROUTES = ["/api/v1/executions", "/trpc/tools.executeTool", "/mcp"] as const;
const TOO_LARGE = [LIMIT + 1, 2 * LIMIT, 16 * LIMIT, 256 * LIMIT, 1024 * LIMIT];
const PIECE = Buffer.alloc(65_536, 0x20);
const ANSWER_LIMIT_MS = 20_000;

const probe: Probe = async ({ open }) => {
  const target = await open({ ...UNLIMITED, "server.maxBodyBytes": String(LIMIT) });
  const count = openCount("bodies");
  const head = (path: string, ...more: string[]): string =>
    [
      `POST ${path} HTTP/1.1`,
      "host: localhost",
      `authorization: Bearer ${target.adminKey}`,
      "content-type: application/json",
      "accept: application/json, text/event-stream",
      ...more,
      "",
      "",
    ].join("\r\n");
  await target.call("system/echo", { text: "warm" });
  const before = memoryOf(target.pid);
  for (const path of ROUTES) {
    for (const size of TOO_LARGE) {
      const status = await send(
        target.url,
        head(path, `content-length: ${size}`),
        size,
        (bytes) => bytes,
      );
      count.add(status === 413 ? null : `${path}: ${size} bytes got ${status ?? "no answer"}`);
    }
    const endless = await send(
      target.url,
      head(path, "transfer-encoding: chunked"),
      64 * LIMIT,
      (bytes) =>
        Buffer.concat([
          Buffer.from(`${bytes.length.toString(16)}\r\n`),
          bytes,
          Buffer.from("\r\n"),
        ]),
    );
    count.add(endless === 413 ? null : `${path}: a body without end got ${endless ?? "no answer"}`);
    const bomb = gzipSync(Buffer.alloc(256 * LIMIT, 0x20));
    const packed = await send(
      target.url,
      head(path, "content-encoding: gzip", `content-length: ${bomb.length}`),
      bomb.length,
      () => bomb,
    );
    count.add(
      packed === 413 || packed === 415 || packed === 400
        ? null
        : `${path}: a bomb got ${packed ?? "no answer"}`,
    );
    const tiny = await send(target.url, head(path, "content-length: 1"), 1, (bytes) => bytes);
    count.add(
      tiny !== null && tiny >= 400 && tiny < 500
        ? null
        : `${path}: one byte got ${tiny ?? "no answer"}`,
    );
  }
  for (const size of [LIMIT - 1, LIMIT]) {
    const text = JSON.stringify({ name: "system/echo", arguments: { text: "fits" } });
    const { status } = await target.api("POST", "/executions", {
      body: text + " ".repeat(size - text.length),
    });
    count.control(status === 200, `a body of ${size} bytes got ${status}`);
  }
  const grown = memoryOf(target.pid) - before;
  count.add(grown <= LIMIT + ROOM ? null : `memory grew by ${Math.round(grown / 1_048_576)} MB`);
  return count.figure({ figures: `memory at most ${Math.round(grown / 1_048_576)} MB more` });
};
export default probe;

/** The most the process ever had. */
function memoryOf(pid: number): number {
  const [, kilobytes = "0"] =
    /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** Sends pieces until there is an answer or the end. */
async function send(
  url: string,
  head: string,
  size: number,
  piece: (bytes: Buffer) => Buffer,
): Promise<number | null> {
  const wire = await Wire.open(url);
  try {
    let status: number | null = null;
    const answered = wire.answer().then(
      (answer) => (status = answer.status),
      () => (status ??= null),
    );
    let isOver = false;
    const over = answered.finally(() => (isOver = true));
    wire.send(head);
    for (let sent = 0; sent < size && !isOver && !wire.socket.destroyed;) {
      const bytes = piece(size - sent < PIECE.length ? PIECE.subarray(0, size - sent) : PIECE);
      sent += Math.max(PIECE.length, bytes.length);
      if (!wire.socket.write(bytes))
        await Promise.race([
          over,
          new Promise((resolve) => wire.socket.once("drain", resolve)),
          pause(1000),
        ]);
    }
    await Promise.race([over, pause(ANSWER_LIMIT_MS)]);
    return status;
  } finally {
    wire.close();
  }
}
