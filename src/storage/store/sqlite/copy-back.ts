// Copying the log file back into the database takes SQLite some 15 ms under load, and the call that commits waits
// meanwhile. So another thread does it, and the writer only what is left: once nothing is, the log file begins anew
// with the next group.
import type { DatabaseSync } from "node:sqlite";
import {
  MessageChannel,
  receiveMessageOnPort,
  Worker,
  type MessagePort,
} from "node:worker_threads";

export interface CopyData {
  readonly file: string;
  /** Gets something after each copy. */
  readonly answers: MessagePort;
}

export interface CopyBack {
  /** Between two transactions of the writer. */
  look(): void;
  end(): Promise<void>;
}

/** So many pages of 4 kB are copied back together: those that change often then once for many groups. */
const PAGES = 4_000;
/** At this size the writer copies by itself, should the other thread be away. */
const TOO_MANY = 16_000;
/** Transactions between two checks of the size, and after a failure. */
const [LOOK_EVERY, LOOK_AGAIN] = [32, 3_200];

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./copy-back-thread.ts" : "./copy-back-thread.js",
  import.meta.url,
);

interface Thread {
  readonly worker: Worker;
  readonly answers: MessagePort;
}

/** The thread starts with the first copy: a small installation never has it. */
export function copyBack(db: DatabaseSync, file: string): CopyBack {
  db.exec(`pragma wal_autocheckpoint = ${TOO_MANY}`);
  const size = db.prepare("pragma wal_checkpoint(noop)");
  const copy = db.prepare("pragma wal_checkpoint(passive)");
  let thread: Thread | null = null;
  let isCopying = false;
  let isOver = false;
  let untilLook = LOOK_EVERY;

  /** Nothing is lost by it: what is not copied stays in the log file, which the writer copies when it is too large. */
  const failed = (cause: unknown): void => {
    untilLook = LOOK_AGAIN;
    process.emitWarning(
      `the log file of the store is not copied back beside the writer (${String(cause)}): calls may wait for it`,
      "StoreWarning",
    );
  };

  const start = (): Thread => {
    const { port1: answers, port2 } = new MessageChannel();
    const workerData: CopyData = { file, answers: port2 };
    const worker = new Worker(entry, {
      workerData,
      transferList: [port2],
      name: "store-copy",
    });
    worker.on("error", failed);
    worker.on("exit", () => {
      answers.close();
      [thread, isCopying] = [null, false];
    });
    worker.unref();
    return { worker, answers };
  };

  const look = (): void => {
    if (thread && isCopying) {
      const answer = receiveMessageOnPort(thread.answers) as { message: null } | undefined;
      if (!answer) return;
      isCopying = false;
      copy.get();
    } else if (--untilLook <= 0) {
      untilLook = LOOK_EVERY;
      if (Number(size.get()?.["log"]) < PAGES) return;
      thread ??= start();
      thread.worker.postMessage(null);
      isCopying = true;
    }
  };

  return {
    look() {
      if (isOver) return;
      try {
        look();
      } catch (cause) {
        failed(cause);
      }
    },
    async end() {
      isOver = true;
      await thread?.worker.terminate();
    },
  };
}
