// The thread that copies the log file back into the database while the writer goes on. It never waits for the writer,
// nor the writer for it.
import { parentPort, workerData } from "node:worker_threads";
import { openConnection } from "../connection.ts";
import type { CopyData } from "./copy-back.ts";

if (!parentPort) throw new Error("it runs in a thread of its own");
const { file, answers } = workerData as CopyData;
const db = openConnection(file);
const copy = db.prepare("pragma wal_checkpoint(passive)");

/** What came while the first was under way is less, and less again. */
const TIMES = 3;

parentPort.on("message", () => {
  try {
    for (let left = TIMES; left > 0; left--) copy.get();
  } finally {
    answers.postMessage(null);
  }
});
