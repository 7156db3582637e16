// Logins at servers upstream that want one: everybody's by administrators, one's own by each who may use the server.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { serverName } from "./server-shapes.ts";

const named = z.strictObject({ name: serverName });

export const beginServerLogin = endpoint({
  name: "servers.beginServerLogin",
  method: "POST",
  path: "/servers/{name}/login",
  access: "caller",
  summary: "Begin a login at a server upstream: where to send the browser, for ten minutes",
  input: named,
  output: z.object({ authorizationUrl: z.string() }),
  async run({ name }, { caller, doors }) {
    const sees = async (): Promise<boolean> =>
      (await doors.engine.discover(caller)).some(({ route }) => route?.server === name);
    return { authorizationUrl: (await doors.logins.begin(caller, name, sees)).href };
  },
});

export const endServerLogin = endpoint({
  name: "servers.endServerLogin",
  method: "DELETE",
  path: "/servers/{name}/login",
  access: "caller",
  summary: "Forget what a login at a server upstream gave",
  input: named,
  output: z.object({ removed: z.boolean() }),
  run: async ({ name }, { caller, doors }) => ({
    removed: await doors.logins.logout(caller, name),
  }),
});
