// Nobody decides their own calls, so that one is made by an agent: a user of its own, with a key for an hour.
import { api } from "../../api/client.ts";
import { requestJson } from "../../api/request.ts";
import { makeUser } from "./make-user.ts";

const AGENT = "demo-agent";
const HOUR_MS = 3_600_000;
const CALL = {
  name: "file/write",
  arguments: { path: "ostiary-demo.txt", content: "Hello from Ostiary\n" },
  wait: false,
};

type Outcome = Awaited<ReturnType<typeof api.tools.executeTool.mutate>>;

/** Whoever is no administrator can make no key: the call is their own then, for others to decide. */
export async function askForApproval(isAdmin: boolean): Promise<Outcome> {
  if (!isAdmin) return api.tools.executeTool.mutate(CALL);
  await makeUser(AGENT, "Demo agent");
  const { secret } = await api.keys.createKey.mutate({
    userId: AGENT,
    name: "demo of an approval",
    level: "admin",
    expiresAt: new Date(Date.now() + HOUR_MS).toISOString(),
  });
  return requestJson<Outcome>("/api/v1/executions", {
    method: "POST",
    credentials: "omit",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(CALL),
  });
}
