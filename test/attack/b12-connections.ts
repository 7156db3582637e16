// B12: connections held open for nothing, by strangers and by slow clients. The others must be served meanwhile.
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Attack, Case, Target } from "./attack.ts";
import { dial, hostOf, type Raw } from "./wire.ts";

const FILES = 1_024;
/** 30 s are promised; the rest is for a busy machine. */
const ENDED_MS = 40_000;
/** Whoever is starved is not answered before the others are closed, after 30 s; a busy machine may take a while. */
const SERVED_MS = 15_000;

/** As `ulimit -n 1024`, set by the server's own user: root need not have the right to limit others. */
async function few(target: Target): Promise<void> {
  const argv = ["prlimit", `--nofile=${FILES}:${FILES}`, "--pid", String(target.pid)];
  const { code, stderr } = await target.asUser(argv);
  if (code !== 0) throw new Error(`the limit of files was not set: ${stderr}`);
}

const bearer = (target: Target): string => `Authorization: Bearer ${target.adminKey}`;
const head = (target: Target, line: string, ...more: readonly string[]): string =>
  `${[line, `Host: ${hostOf(target)}`, ...more].join("\r\n")}\r\n`;
const posted = (target: Target, path: string, ...more: readonly string[]): string =>
  `${head(target, `POST ${path} HTTP/1.1`, bearer(target), "Content-Type: application/json", "Accept: application/json, text/event-stream", ...more)}\r\n`;

/** Null when somebody with a key and somebody without are answered, each on a connection of their own, asked once. */
async function serves(target: Target): Promise<string | null> {
  const asked = async (path: string, ...headers: readonly string[]): Promise<string | null> => {
    const began = Date.now();
    const raw = await dial(target);
    raw.socket.write(
      `${head(target, `GET ${path} HTTP/1.1`, "Connection: close", ...headers)}\r\n`,
    );
    const isServed = await raw.until(/^HTTP\/1\.1 200 /, SERVED_MS);
    const took = Date.now() - began;
    raw.close();
    return isServed && took < SERVED_MS
      ? null
      : `${path} was answered with '${raw.text.slice(0, 40)}' after ${took} ms`;
  };
  const files = readdirSync(`/proc/${target.pid}/fd`).length;
  if (files > FILES - 100) return `the server has ${files} files open`;
  return (await asked("/healthz")) ?? (await asked("/api/v1/whoami", bearer(target)));
}

interface Crowd {
  readonly name: string;
  readonly count: number;
  readonly isReading?: boolean;
  first(raw: Raw, target: Target, index: number): void;
  /** Once a second. */
  then?(raw: Raw): void;
  /** All of them are closed by the server within `ENDED_MS`. */
  readonly ends?: boolean;
}

const crowd = ({ name, count, isReading, first, then, ends = false }: Crowd): Case => ({
  name,
  // Small ones leave each other room.
  waits: ends && count < 100,
  async run(target) {
    await few(target);
    const all: Raw[] = [];
    try {
      for (let at = 0; at < count; at++) {
        const raw = await dial(target, isReading);
        if (!raw.isOver) first(raw, target, at);
        all.push(raw);
      }
      const harmed = await serves(target);
      if (harmed !== null) return harmed;
      const late = Date.now() + ENDED_MS;
      while (ends && Date.now() < late && all.some(({ isOver }) => !isOver)) {
        for (const raw of all) if (!raw.isOver && raw.socket.writable) then?.(raw);
        await pause(1_000);
      }
      const open = all.filter(({ isOver }) => !isOver).length;
      if (ends && open > 0) return `${open} of ${count} are open after ${ENDED_MS / 1_000} s`;
      return await serves(target);
    } finally {
      for (const raw of all) raw.close();
    }
  },
});

const attack: Attack = {
  item: "B12",
  title: "connections held open for nothing starve nobody",
  skip: () => (canLimit() ? null : "needs prlimit"),
  cases: [
    crowd({ name: "1,200 that say nothing", count: 1_200, first: () => undefined, ends: true }),
    crowd({
      name: "1,200 with half a request line",
      count: 1_200,
      first: ({ socket }) => void socket.write("GET /hea"),
    }),
    crowd({
      name: "1,200 answered once, then idle",
      count: 1_200,
      first: ({ socket }, target) =>
        void socket.write(`${head(target, "GET /healthz HTTP/1.1")}\r\n`),
    }),
    crowd({
      name: "1,200 with a wrong key, then idle",
      count: 1_200,
      first: ({ socket }, target) =>
        void socket.write(
          `${head(target, "GET /api/v1/whoami HTTP/1.1", "Authorization: Bearer ost_no")}\r\n`,
        ),
    }),
    crowd({
      name: "1,200 that close their side and keep the other",
      count: 1_200,
      first: ({ socket }) => void socket.end(),
      ends: true,
    }),
    crowd({
      name: "600 idle ones with a valid key",
      count: 600,
      first: ({ socket }, target) =>
        void socket.write(`${head(target, "GET /api/v1/whoami HTTP/1.1", bearer(target))}\r\n`),
    }),
    crowd({
      name: "headers of one byte a second",
      count: 20,
      first: ({ socket }) => void socket.write("GET /healthz HTTP/1.1\r\nX: "),
      then: ({ socket }) => void socket.write("a"),
      ends: true,
    }),
    crowd({
      name: "a header line a second, to the raw reader's path",
      count: 20,
      first: ({ socket }, target) => void socket.write(head(target, "POST /mcp HTTP/1.1")),
      then: ({ socket }) => void socket.write("X-A: b\r\n"),
      ends: true,
    }),
    crowd({
      name: "a body of one byte a second, to MCP",
      count: 20,
      first: ({ socket }, target) =>
        void socket.write(`${posted(target, "/mcp", "Content-Length: 100000")}{`),
      then: ({ socket }) => void socket.write(" "),
      ends: true,
    }),
    crowd({
      name: "a body of one byte a second, to REST",
      count: 20,
      first: ({ socket }, target) =>
        void socket.write(`${posted(target, "/api/v1/executions", "Content-Length: 100000")}{`),
      then: ({ socket }) => void socket.write(" "),
      ends: true,
    }),
    crowd({
      name: "a body of one byte a second, to tRPC and to pages, without a key",
      count: 20,
      first: ({ socket }, target, index) =>
        void socket.write(
          `${head(target, `POST ${index % 2 ? "/trpc/tools.executeTool" : "/oauth/callback"} HTTP/1.1`, "Content-Length: 100000")}\r\n{`,
        ),
      then: ({ socket }) => void socket.write(" "),
      ends: true,
    }),
    crowd({
      name: "chunks of one byte a second",
      count: 20,
      first: ({ socket }, target, index) =>
        void socket.write(
          `${posted(target, index % 2 ? "/mcp" : "/api/v1/executions", "Transfer-Encoding: chunked")}1\r\n{\r\n`,
        ),
      then: ({ socket }) => void socket.write("1\r\n \r\n"),
      ends: true,
    }),
    crowd({
      name: "bodies that stop in the middle",
      count: 20,
      first: ({ socket }, target, index) =>
        void socket.write(
          `${posted(target, index % 2 ? "/mcp" : "/api/v1/executions", "Content-Length: 100000")}{`,
        ),
      ends: true,
    }),
    crowd({
      name: "bodies where none belongs, one byte a second",
      count: 20,
      first: ({ socket }, target, index) =>
        void socket.write(
          `${head(target, `GET ${index % 2 ? "/healthz" : "/api/v1/whoami"} HTTP/1.1`, bearer(target), "Content-Length: 100000")}\r\n{`,
        ),
      then: ({ socket }) => void socket.write(" "),
      ends: true,
    }),
    crowd({
      name: "400 that take nothing of their answers",
      count: 400,
      isReading: false,
      first: ({ socket }, target) => {
        socket.pause();
        socket.write(
          `${head(target, "GET /openapi.json HTTP/1.1", bearer(target))}\r\n`.repeat(10),
        );
      },
    }),
  ],
  control: {
    name: "a quiet client with a key keeps its connection, and a long call is not cut off",
    async run(target) {
      const raw = await dial(target);
      const ask = `${head(target, "GET /api/v1/whoami HTTP/1.1", bearer(target))}\r\n`;
      raw.socket.write(ask);
      if (!(await raw.until(/200 OK/, SERVED_MS))) return `no answer: ${raw.text.slice(0, 200)}`;
      await pause(3_000);
      raw.socket.write(ask);
      const again = await raw.until(/200 OK[^]*200 OK/, SERVED_MS);
      raw.close();
      return again ? null : `no second answer: ${raw.text.slice(0, 200)}`;
    },
  },
};

function canLimit(): boolean {
  try {
    execFileSync("prlimit", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
export default attack;
