// A power loss in the middle of a write: the last records of the log file are cut or scrambled at any byte. The server
// starts, what is left is a valid chain, and it goes on from there.
import {
  cpSync,
  mkdtempSync,
  openSync,
  closeSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChainReader } from "./chain.ts";
import { startLoad } from "./load.ts";
import type { Report } from "./report.ts";
import { startServer } from "./server.ts";

const CUTS = 20;
/** Bytes of SQLite's log file, and of each page in it, before the page. */
const [HEADER, FRAME_HEADER] = [32, 24];
const LOAD_MS = 1_500;
/** The end that may not have reached the disk. */
const TAIL_BYTES = 1_048_576;

export async function tornRecords(report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-torn-"));
  const whole = join(folder, "whole");
  try {
    const server = await startServer(whole);
    const load = startLoad(server, 0);
    await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
    await server.kill();
    await load.done;
    for (let cut = 1; cut <= CUTS; cut++) await startTorn(report, whole, join(folder, "torn"), cut);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startTorn(report: Report, whole: string, torn: string, cut: number): Promise<void> {
  rmSync(torn, { recursive: true, force: true });
  cpSync(whole, torn, { recursive: true });
  const file = join(torn, "ostiary.db-wal");
  const size = endOfLog(file);
  const at = Math.max(0, size - 1 - Math.floor(Math.random() * Math.min(size, TAIL_BYTES)));
  const how = cut % 2 === 0 ? "cut off" : "scrambled";
  if (how === "cut off") truncateSync(file, at);
  else scramble(file, at);
  const faults: string[] = [];
  const server = await startServer(torn);
  const before = countOf(new ChainReader(torn), faults);
  const { status } = await server.api("POST", "/executions", {
    name: "system/echo",
    arguments: { text: "goes on" },
  });
  if (status !== 200) faults.push(`the first call afterwards answered ${status}`);
  const { body } = await server.api("GET", "/executions/active");
  if (body["count"] !== 0) faults.push(`${String(body["count"])} executions are stuck`);
  await server.stop();
  const after = countOf(new ChainReader(torn), faults);
  if (after <= before) faults.push("nothing was added to the chain");
  report.result(
    `the log file ${how} ${size - at} bytes before its end: starts, ${before} events are a valid chain, ${after} later`,
    faults,
  );
}

/** The file is used again from its beginning: only frames with the salt of its header count, the rest is older. */
function endOfLog(file: string): number {
  const bytes = readFileSync(file);
  const salt = bytes.subarray(16, 24);
  const frame = FRAME_HEADER + bytes.readUInt32BE(8);
  let end = HEADER;
  while (end + frame <= bytes.length && bytes.subarray(end + 8, end + 16).equals(salt))
    end += frame;
  return end;
}

function countOf(reader: ChainReader, faults: string[]): number {
  faults.push(...reader.read());
  return reader.events;
}

function scramble(file: string, at: number): void {
  const byte = readFileSync(file)[at] ?? 0;
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.from([byte ^ 0xff]), 0, 1, at);
  closeSync(handle);
}
