// Sign-ins to the console: who is signed in, by what, and how one is ended.
import { z } from "zod";
import type { SignInView } from "../../core/identity/index.ts";
import { endpoint } from "./endpoint.ts";
import { iso, time } from "./shapes.ts";

const signIn = z.object({
  id: z.string(),
  userId: z.string(),
  keyId: z.string().nullable().describe("The key that made its link, and ends it"),
  createdAt: time,
  seenAt: time.describe("Last use, within five minutes"),
  endsAt: time.describe("When it runs out unless it is used"),
  current: z.boolean().describe("It is the one that asks"),
});

const view = ({ createdAt, seenAt, endsAt, ...rest }: SignInView): z.input<typeof signIn> => ({
  ...rest,
  createdAt: iso(createdAt),
  seenAt: iso(seenAt),
  endsAt: iso(endsAt),
});

export const listSignIns = endpoint({
  name: "signIns.listSignIns",
  method: "GET",
  path: "/sign-ins",
  access: "caller",
  summary: "Open sign-ins to the console, newest first: your own; administrators see the tenant's",
  input: z.strictObject({
    userId: z.string().min(1).max(128).optional(),
    limit: z.int().min(1).max(100).default(50),
  }),
  output: z.object({ items: z.array(signIn) }),
  async run({ userId, limit }, { caller, doors }) {
    const filter = { limit, ...(userId === undefined ? {} : { userId }) };
    return { items: (await doors.identity.listSignIns(caller, filter)).map(view) };
  },
});

export const endSignIn = endpoint({
  name: "signIns.endSignIn",
  method: "DELETE",
  path: "/sign-ins/{id}",
  access: "caller",
  summary:
    "End a sign-in and all that it holds open, on every instance; one's own, or (administrators) any user's",
  input: z.strictObject({ id: z.string().min(1).max(128) }),
  output: signIn,
  run: async ({ id }, { caller, doors }) => view(await doors.identity.endSignIn(caller, id)),
});
