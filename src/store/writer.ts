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
// An answer must come within 2 s: one group ahead of ours and our own may each wait this long for a foreign lock.
db.exec("pragma busy_timeout = 700");
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

function receive(): Message | undefined {
  return (receiveMessageOnPort(port) as { message: Message } | undefined)?.message;
}

function answerTo(flats: readonly (readonly Flat[])[]): Answer {
  try {
    return {
      groups: flats.length,
      results: write(flats.length === 1 ? (flats[0] ?? []) : flats.flat()),
    };
  } catch (cause) {
    return { groups: flats.length, results: failure(cause) };
  }
}
