// Calls that ran in the raw HTTP reader but have to be answered by node:http, such as one that waits for an approval.
// node:http builds its own request object: the socket is all that both readers have in common, so it is the key.
import type { FastRun } from "../../mcp/fast-run.ts";

type RunningCall = ReturnType<FastRun>;

export interface Handovers {
  give(socket: object, call: RunningCall): void;
  /** The call that the next request on this socket stands for. It can be taken once: it must not run again. */
  take(socket: object): RunningCall | undefined;
}

export function createHandovers(): Handovers {
  const calls = new WeakMap<object, RunningCall>();
  return {
    give: (socket, call) => void calls.set(socket, call),
    take(socket) {
      const call = calls.get(socket);
      if (call !== undefined) calls.delete(socket);
      return call;
    },
  };
}
