// Who the caller is, as the gate sees it.
import { z } from "zod";
import { LEVELS, PLANS } from "../../contract/call.ts";
import { FRESH_MS } from "../../governance/approvals/self.ts";
import { endpoint } from "./endpoint.ts";
import { iso, isoOrNull, time } from "./shapes.ts";

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
    name: z.string().nullable().describe("Of the user; null: there is no such user any more"),
    tenantName: z.string().nullable(),
    signedInAt: time
      .nullable()
      .describe("When the person of a console session proved themselves; null: not a session"),
    freshUntil: time
      .nullable()
      .describe("Until then the sign-in is recent enough to agree to a call of one's own"),
  }),
  async run(_input, { caller, doors }) {
    const { userId, tenantId, role, roles, plan, level, scopes, capsuleId, keyId, via } = caller;
    const lists = { roles: [...roles], scopes: [...scopes] };
    const at = caller.signIn?.at ?? null;
    return {
      ...{ userId, tenantId, role, plan, level, capsuleId, keyId, via, ...lists },
      ...(await doors.directory.namesOf(caller)),
      signedInAt: isoOrNull(at),
      freshUntil: at === null ? null : iso(at + FRESH_MS),
    };
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
