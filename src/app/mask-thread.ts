// Worker thread that masks long texts with the rules, the key and the known secrets of the main thread.
import { parentPort, workerData } from "node:worker_threads";
import { createMasker } from "../util/secrets/masker.ts";

export interface ThreadData {
  readonly key: Uint8Array;
  readonly known: readonly string[];
  readonly passing: readonly string[];
}

export type ToThread =
  { readonly text: string } | { readonly know: string } | { readonly knowTemporary: string };

/** Null: nothing to mask. */
export type FromThread = {
  readonly answer: string;
  readonly recorded: string;
  readonly masked: number;
} | null;

const { key, known, passing } = workerData as ThreadData;
const masker = createMasker({ key, known });
for (const secret of passing) masker.knowTemporary(secret);

parentPort?.on("message", (message: ToThread) => {
  if ("know" in message) masker.know(message.know);
  else if ("knowTemporary" in message) masker.knowTemporary(message.knowTemporary);
  else {
    const { text } = message;
    const { answer, recorded, masked } = masker.result(text);
    const same = recorded === text && answer === text;
    const reply: FromThread = same
      ? null
      : { answer: answer as string, recorded: recorded as string, masked };
    parentPort?.postMessage(reply);
  }
});
