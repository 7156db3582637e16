// API keys. The secret is shown once, when the key is made. Administrators only.
import { z } from "zod";
import { type KeyLimits, LEVELS, type Plan, PLANS } from "../../contract/call.ts";
import type { KeyView } from "../../core/identity/directory.ts";
import { endpoint, fieldFault } from "./endpoint.ts";
import { given } from "./users.ts";
import { chosenId, iso, isoOrNull, label, moment, page, pageOf, time, toMs } from "./shapes.ts";

const DAY = 86_400;

const most = (max: number) => z.int().min(1).max(max).optional();
const limits = z
  .strictObject({ perMinute: most(1_000), perHour: most(10_000), perDay: most(100_000) })
  .describe("Calls of this key; what is left out is not limited");
const plan = z.enum(PLANS);

const key = z.object({
  id: z.string(),
  tenantId: z.string(),
  userId: z.string(),
  name: z.string(),
  prefix: z.string().describe("First characters, enough to recognise the key"),
  scopes: z.array(z.string()),
  level: z.enum(LEVELS).nullable(),
  capsuleId: z.string().nullable(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  lastUsedAt: time.nullable(),
  plan: plan.nullable().describe("A plan of the key's own, counted on the key alone"),
  limits: limits.nullable(),
});
const keyWithSecret = key.extend({ secret: z.string().describe("Shown only here") });

const view = (row: KeyView): z.input<typeof key> => ({
  id: row.id,
  tenantId: row.tenantId,
  userId: row.userId,
  name: row.name,
  prefix: row.prefix,
  scopes: [...row.scopes],
  level: row.level,
  capsuleId: row.capsuleId,
  createdAt: iso(row.createdAt),
  expiresAt: isoOrNull(row.expiresAt),
  revokedAt: isoOrNull(row.revokedAt),
  lastUsedAt: isoOrNull(row.lastUsedAt),
  plan: row.limits?.plan ?? null,
  limits: windowsOf(row.limits),
});

/** Without the plan, which the answer has beside them. */
function windowsOf(kept: KeyLimits | null): Omit<KeyLimits, "plan"> | null {
  const { plan: _plan, ...windows } = kept ?? {};
  return Object.keys(windows).length > 0 ? windows : null;
}

export const createKey = endpoint({
  name: "keys.createKey",
  method: "POST",
  path: "/keys",
  access: "admin",
  summary: "Create an API key; its secret is in this answer only",
  statuses: [201],
  input: z.strictObject({
    userId: chosenId,
    name: label,
    scopes: z
      .array(z.string().min(1).max(128))
      .max(64)
      .optional()
      .describe("Default: agent:execute:… for each risk that the level reaches"),
    capsuleId: chosenId.optional(),
    level: z.enum(LEVELS).optional().describe("Default: the user's own, by role and plan"),
    expiresAt: moment.optional().describe("Default: 90 days from now"),
    plan: plan.optional(),
    limits: limits.optional(),
  }),
  output: keyWithSecret,
  async run(input, { caller, doors, reply }) {
    const { userId, name, scopes, capsuleId, level, expiresAt } = input;
    const chosen = keyLimits(input.limits ?? {}, input.plan ?? null);
    const expires = expiresAt === undefined ? undefined : toMs(expiresAt, "end");
    if (expires !== undefined && expires <= doors.now()) {
      throw fieldFault("/expiresAt", "lies in the past");
    }
    const made = await doors.directory.createKey(caller, {
      userId,
      name,
      ...(scopes === undefined ? {} : { scopes }),
      ...(capsuleId === undefined ? {} : { capsuleId }),
      ...(level === undefined ? {} : { level }),
      ...(expires === undefined ? {} : { expiresAt: expires }),
      ...(chosen === null ? {} : { limits: chosen }),
    });
    reply.headers["Location"] = `/api/v1/keys/${made.key.id}`;
    return { ...view(made.key), secret: made.secret };
  },
});

/** Without what was not given; null when that is all. */
function keyLimits(windows: z.output<typeof limits>, chosen: Plan | null): KeyLimits | null {
  const kept: KeyLimits = { ...given(windows), ...(chosen === null ? {} : { plan: chosen }) };
  return Object.keys(kept).length > 0 ? kept : null;
}

export const listKeys = endpoint({
  name: "keys.listKeys",
  method: "GET",
  path: "/keys",
  access: "admin",
  summary: "API keys of the tenant, without their secrets",
  input: page.extend({ userId: chosenId.optional() }),
  output: z.object({ items: z.array(key), next: z.string().nullable() }),
  run: ({ userId, ...input }, { caller, doors }) =>
    pageOf(
      input,
      (rows) => doors.directory.listKeys(caller, userId === undefined ? rows : { ...rows, userId }),
      view,
    ),
});

export const getKey = endpoint({
  name: "keys.getKey",
  method: "GET",
  path: "/keys/{id}",
  access: "admin",
  summary: "One API key",
  input: z.strictObject({ id: chosenId }),
  output: key,
  run: async ({ id }, { caller, doors }) => view(await doors.directory.getKey(caller, id)),
});

export const updateKey = endpoint({
  name: "keys.updateKey",
  method: "PATCH",
  path: "/keys/{id}",
  access: "admin",
  evenWhenUsedUp: true,
  summary: "Change plan and limits of a key; fields left out stay",
  input: z.strictObject({
    id: chosenId,
    plan: plan.nullable().optional().describe("null: no plan of its own"),
    limits: limits.nullable().optional().describe("null: no windows of its own"),
  }),
  output: key,
  async run({ id, ...change }, { caller, doors }) {
    const { limits: kept } = await doors.directory.getKey(caller, id);
    const windows = change.limits === undefined ? windowsOf(kept) : change.limits;
    const chosen = change.plan === undefined ? (kept?.plan ?? null) : change.plan;
    return view(await doors.directory.updateKey(caller, id, keyLimits(windows ?? {}, chosen)));
  },
});

export const revokeKey = endpoint({
  name: "keys.revokeKey",
  method: "DELETE",
  path: "/keys/{id}",
  access: "admin",
  summary: "Revoke a key; it is refused before this answers",
  input: z.strictObject({ id: chosenId }),
  output: key,
  run: async ({ id }, { caller, doors }) => view(await doors.directory.revokeKey(caller, id)),
});

export const rotateKey = endpoint({
  name: "keys.rotateKey",
  method: "POST",
  path: "/keys/{id}/rotate",
  access: "admin",
  summary: "A new key with the same rights; the old one lives on for the overlap",
  statuses: [201],
  input: z.strictObject({
    id: chosenId,
    overlapSeconds: z
      .int()
      .min(0)
      .max(30 * DAY)
      .default(DAY),
  }),
  output: keyWithSecret,
  async run({ id, overlapSeconds }, { caller, doors, reply }) {
    const made = await doors.directory.rotateKey(caller, id, overlapSeconds);
    reply.headers["Location"] = `/api/v1/keys/${made.key.id}`;
    return { ...view(made.key), secret: made.secret };
  },
});
