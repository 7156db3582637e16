// Decides which requests the raw HTTP reader answers itself: plain calls of known callers. It refuses nothing:
// everything else goes to node:http, which makes the same checks and sends the error.
import type { Caller } from "../../../contract/call.ts";
import { NO_REQUEST_SPAN } from "../../../telemetry/tracing.ts";
import type { Doors } from "../../doors.ts";
import { plainCall, type FastCall } from "../../mcp/fast.ts";
import type { FastRun } from "../../mcp/fast-run.ts";
import { isMcpPath, serverOfPath, type ToolNames } from "../../mcp/views.ts";
import { countRequest } from "../count-request.ts";
import type { Guard } from "../guard.ts";
import { identifyOn, keyOnly } from "../identify.ts";
import { parseInTurn } from "../parse.ts";
import type { RawReaderPowers } from "./connection.ts";
import type { Handovers } from "./handover.ts";

export interface RawHandlerPowers {
  readonly doors: Pick<
    Doors,
    | "identity"
    | "ids"
    | "now"
    | "settings"
    | "connections"
    | "turns"
    | "clients"
    | "addressThrottle"
    | "requests"
  >;
  readonly names: ToolNames;
  readonly guard: () => Guard;
  readonly run: FastRun;
  readonly handovers: Pick<Handovers, "give">;
}

export function createRawHandler(powers: RawHandlerPowers): RawReaderPowers["serve"] {
  const { doors, names, guard, run, handovers } = powers;
  const { ids, now, settings, clients } = doors;
  return async ({ path, headers, body }, socket, whenGone) => {
    if (!isMcpPath(path) || body.length > settings.maxBodyBytes) return null;
    const server = serverOfPath(path);
    let caller: Caller;
    let fast: FastCall | null;
    try {
      guard().check({ headers });
      const known = identifyOn(doors, keyOnly(headers), socket);
      caller = known instanceof Promise ? await known : known;
      const parsed = parseInTurn(doors, body);
      const message = parsed instanceof Promise ? await parsed : parsed;
      fast = plainCall({ headers }, message, names, server);
    } catch {
      return null;
    }
    if (fast === null || socket.destroyed) return null;
    // Counted last: a request that is handed over is counted by node:http. A refused one counts nothing.
    const ip = clients.addressOf({ socket, headers });
    const refused = countRequest(doors, caller, ip);
    if (refused instanceof Promise ? await refused.catch(() => true) : refused) return null;
    const requestId = ids.next("req", now());
    const span = NO_REQUEST_SPAN;
    const running = run(fast, caller, { requestId, server, span, ip, whenGone });
    try {
      const response = await running;
      if (typeof response !== "string") return response;
    } catch {
      // node:http awaits the same promise and sends the error.
    }
    handovers.give(socket, running);
    return null;
  };
}
