// Logins at upstream servers: the shared one by administrators, a personal one by each user who may use the server.
import { z } from "zod";
import { endpoint, type ApiContext } from "../endpoint.ts";
import { serverName } from "./shapes.ts";
import { isoOrNull, time } from "../shapes.ts";

const named = z.strictObject({ name: serverName });

/** Whether the caller may see any of the server's tools. */
const sees =
  (name: string, { caller, doors }: ApiContext) =>
  async (): Promise<boolean> =>
    (await doors.engine.discover(caller)).some(({ route }) => route?.server === name);

export const beginServerLogin = endpoint({
  name: "servers.beginServerLogin",
  method: "POST",
  path: "/servers/{name}/login",
  access: "caller",
  summary: "Begin a login at an upstream server: where to send the browser, for ten minutes",
  input: named,
  output: z.object({ authorizationUrl: z.string() }),
  run: async ({ name }, context) => ({
    authorizationUrl: (await context.doors.logins.begin(context.caller, name, sees(name, context)))
      .href,
  }),
});

export const getServerLogin = endpoint({
  name: "servers.getServerLogin",
  method: "GET",
  path: "/servers/{name}/login",
  access: "caller",
  summary: "Since when an upstream server is reached with a login",
  input: named,
  output: z.object({ since: time.nullable().describe("null: nobody has logged in") }),
  run: async ({ name }, context) => ({
    since: isoOrNull(await context.doors.logins.since(context.caller, name, sees(name, context))),
  }),
});

export const endServerLogin = endpoint({
  name: "servers.endServerLogin",
  method: "DELETE",
  path: "/servers/{name}/login",
  access: "caller",
  summary: "Forget what a login at an upstream server gave",
  input: named,
  output: z.object({
    removed: z.boolean(),
    revoked: z
      .boolean()
      .describe("its authorization server knows that the tokens are of no use any more"),
  }),
  async run({ name }, { caller, doors }) {
    const out = await doors.logins.logout(caller, name);
    return { removed: out !== null, revoked: out?.revoked ?? false };
  },
});
