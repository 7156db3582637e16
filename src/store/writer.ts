// The writer thread of SQLite: the only connection that writes.
import { parentPort, workerData } from "node:worker_threads";
import { openConnection } from "./connection.ts";
import { failure, type Flat } from "./group.ts";
import { groupWriter } from "./write-group.ts";

if (!parentPort) throw new Error("the writer runs in a thread of its own");
const port = parentPort;
const db = openConnection((workerData as { file: string }).file);
// An answer must come within 2 s: one group ahead of ours and our own may each wait this long for a foreign lock.
db.exec("pragma busy_timeout = 700");
const write = groupWriter(db);
port.on("message", (flat: readonly Flat[] | null) => {
  if (flat === null) {
    db.close();
    port.close();
    return;
  }
  try {
    port.postMessage(write(flat));
  } catch (cause) {
    port.postMessage(failure(cause));
  }
});
