// Bytes as they are written, to the server's port: what no HTTP client would send.
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Target } from "./attack.ts";

export interface Raw {
  readonly socket: Socket;
  readonly text: string;
  readonly isOver: boolean;
  /** Until the server has closed its side, or so long; whether it has. */
  over(ms: number): Promise<boolean>;
  /** Until that came, or the end, or so long. */
  until(what: RegExp, ms: number): Promise<boolean>;
  close(): void;
}

/** `isReading` false: nothing of the answer is taken. */
export async function dial(target: Target, isReading = true): Promise<Raw> {
  const { hostname, port } = new URL(target.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = "";
  let isOver = false;
  const end = (): void => void (isOver = true);
  socket.on("error", end).on("close", end).on("end", end);
  if (isReading)
    socket.on("data", (bytes) => (text = (text + bytes.toString("latin1")).slice(0, 200_000)));
  // Refused or reset counts as closed.
  await new Promise<void>((ready) => socket.once("connect", ready).once("close", ready));
  const waits = async (holds: () => boolean, ms: number): Promise<boolean> => {
    for (const late = Date.now() + ms; !holds() && Date.now() < late;) await pause(20);
    return holds();
  };
  return {
    socket,
    get text() {
      return text;
    },
    get isOver() {
      return isOver;
    },
    over: (ms) => waits(() => isOver, ms),
    until: async (what, ms) =>
      (await waits(() => what.test(text) || isOver, ms)) && what.test(text),
    close: () => void socket.destroy(),
  };
}

export const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

export const hostOf = (target: Target): string => new URL(target.url).host;
