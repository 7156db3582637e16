// Who the caller is, as the gate sees it.
import { z } from "zod";
import { LEVELS, PLANS } from "../../contract/call.ts";
import { endpoint } from "./endpoint.ts";
import { iso, time } from "./shapes.ts";

export const whoami = endpoint({
  name: "account.whoami",
  method: "GET",
  path: "/whoami",
  access: "caller",
  evenWhenUsedUp: true,
  summary: "Who the caller is: user, role, level, scopes, capsule",
  input: z.strictObject({}),
  output: z.object({
    userId: z.string(),
    tenantId: z.string(),
    role: z.enum(["admin", "user"]),
    roles: z.array(z.string()),
    plan: z.enum(PLANS).nullable(),
    level: z.enum(LEVELS),
    scopes: z.array(z.string()),
    capsuleId: z.string().nullable(),
    keyId: z.string().nullable(),
    via: z.enum(["key", "console", "anonymous"]),
  }),
  run(_input, { caller }) {
    const { userId, tenantId, role, roles, plan, level, scopes, capsuleId, keyId, via } = caller;
    const lists = { roles: [...roles], scopes: [...scopes] };
    return { userId, tenantId, role, plan, level, capsuleId, keyId, via, ...lists };
  },
});

export const createLoginLink = endpoint({
  name: "account.createLoginLink",
  method: "POST",
  path: "/login-links",
  access: "caller",
  summary:
    "A link that signs the caller in to the console: works once, for 15 minutes. Not for keys of agents: " +
    "the key administers, or has scope * or tool:approve",
  statuses: [201],
  input: z.strictObject({}),
  output: z.object({ url: z.string(), expiresAt: time }),
  async run(_input, { caller, doors }) {
    const { token, expiresAt } = await doors.identity.createLoginToken(caller);
    return { url: `${doors.settings.baseUrl}/?t=${token}`, expiresAt: iso(expiresAt) };
  },
});
