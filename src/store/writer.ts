// The writer thread of SQLite: the only connection that writes.
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { openConnection } from "./connection.ts";
import { failure, type Answer, type Flat } from "./group.ts";
import { groupWriter } from "./write-group.ts";
import type { WriterData } from "./writer-client.ts";

if (!parentPort) throw new Error("the writer runs in a thread of its own");
const port = parentPort;
const { file, instanceId } = workerData as WriterData;
const db = openConnection(file);
/**
 * How long a group waits for a foreign lock. An answer must come within 2 s, and one group ahead of ours and our own may
 * each wait this long. Once it failed, an attempt only tells whether the lock is still there.
 */
const [PATIENT_MS, FAILING_MS] = [700, 50];
const wait = patience();
wait(PATIENT_MS);
const write = groupWriter(db, instanceId);
type Message = readonly Flat[] | null;

port.on("message", (first: Message) => {
  // Whatever has arrived by now becomes one transaction: one wait for the disk serves them all.
  const messages = [first];
  for (let more = receive(); more !== undefined; more = receive()) messages.push(more);
  const flats = messages.filter((message) => message !== null);
  if (flats.length > 0) port.postMessage(answerTo(flats));
  if (flats.length === messages.length) return;
  db.close();
  port.close();
});

function patience(): (ms: number) => void {
  let present: number | null = null;
  return (ms) => {
    if (ms !== present) db.exec(`pragma busy_timeout = ${ms}`);
    present = ms;
  };
}

function receive(): Message | undefined {
  return (receiveMessageOnPort(port) as { message: Message } | undefined)?.message;
}

function answerTo(flats: readonly (readonly Flat[])[]): Answer {
  try {
    const results = write(flats.length === 1 ? (flats[0] ?? []) : flats.flat());
    wait(PATIENT_MS);
    return { groups: flats.length, results };
  } catch (cause) {
    wait(FAILING_MS);
    return { groups: flats.length, results: failure(cause) };
  }
}
