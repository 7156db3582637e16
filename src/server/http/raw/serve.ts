// Which requests the lane answers itself: plain calls of callers that are known. The rest is for node:http, which comes to
// the same end by the same checks and says it; so nothing is refused here.
import type { Caller } from "../../../contract/call.ts";
import { NO_REQUEST_SPAN } from "../../../telemetry/tracing.ts";
import { parseStrict } from "../../../util/json/json.ts";
import { LARGE } from "../../../util/async/time-slices.ts";
import { counted } from "../counted.ts";
import type { Doors } from "../../doors.ts";
import type { Guard } from "../guard.ts";
import { fastCall, type FastCall } from "../../mcp/fast.ts";
import type { FastRun } from "../../mcp/fast-run.ts";
import { isMcp, serverIn, type Names } from "../../mcp/views.ts";
import type { LanePowers } from "./connection.ts";

export interface ServePowers {
  readonly doors: Pick<
    Doors,
    | "identity"
    | "ids"
    | "now"
    | "settings"
    | "connections"
    | "turns"
    | "clients"
    | "attempts"
    | "requests"
  >;
  readonly names: Names;
  readonly guard: () => Guard;
  readonly run: FastRun;
  /** Calls that ran here and have to be answered by node:http, by connection: they do not run again. */
  readonly begun: WeakMap<object, ReturnType<FastRun>>;
}

export function createServe({ doors, names, guard, run, begun }: ServePowers): LanePowers["serve"] {
  const { identity, ids, now, settings, connections, turns, clients } = doors;
  return async ({ path, headers, body }, socket, whenGone) => {
    if (!isMcp(path) || body.length > settings.maxBodyBytes) return null;
    const server = serverIn(path);
    let caller: Caller;
    let fast: FastCall | null;
    try {
      guard().check({ headers });
      // Agents bring a key. The console's cookie would travel with requests of other local pages too.
      const known = identity.identify(
        { authorization: headers.authorization, cookie: undefined },
        socket,
      );
      caller = known instanceof Promise ? await known : known;
      connections.know(socket, caller);
      if (body.length >= LARGE) await turns.next();
      fast = fastCall({ headers }, parseStrict(body), names, server);
    } catch {
      return null;
    }
    if (fast === null || socket.destroyed) return null;
    // A refused one counts nothing; node:http says why.
    const ip = clients.addressOf({ socket, headers });
    const refused = counted(doors, caller, ip);
    if (refused instanceof Promise ? await refused.catch(() => true) : refused) return null;
    const requestId = ids.next("req", now());
    const span = NO_REQUEST_SPAN;
    const ending = run(fast, caller, { requestId, server, span, ip, whenGone });
    try {
      const end = await ending;
      if (typeof end !== "string") return end;
    } catch {
      // Whoever answers it is told.
    }
    begun.set(socket, ending);
    return null;
  };
}
