// Who sends a request, by its credentials. The raw HTTP reader and node:http use the same function.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Caller } from "../../contract/call.ts";
import type { Credentials } from "../../core/identity/index.ts";
import type { Doors } from "../doors.ts";

/** Agents send a key. The console's cookie is ignored: browsers add it to requests of other local pages too. */
export const keyOnly = ({ authorization }: IncomingHttpHeaders): Credentials => ({
  authorization,
  cookie: undefined,
});

/** Also marks the connection as one of a known caller. No promise where the credential is cached. */
export function identifyOn(
  { identity, connections }: Pick<Doors, "identity" | "connections">,
  credentials: Credentials,
  socket: object,
): Caller | Promise<Caller> {
  const caller = identity.identify(credentials, socket);
  if (caller instanceof Promise)
    return caller.then((known) => {
      connections.identified(socket, known);
      return known;
    });
  connections.identified(socket, caller);
  return caller;
}

/** The same, and counts a refused credential against the address. */
export function identifyOrThrottle(
  doors: Doors,
  req: IncomingMessage,
  credentials: Credentials,
): Caller | Promise<Caller> {
  const refuse = (cause: unknown): never => {
    throw doors.addressThrottle.afterRefusal(cause, doors.clients.addressOf(req));
  };
  try {
    const caller = identifyOn(doors, credentials, req.socket);
    return caller instanceof Promise ? caller.catch(refuse) : caller;
  } catch (cause) {
    return refuse(cause);
  }
}
