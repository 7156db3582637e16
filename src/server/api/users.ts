// Users of the tenant. Administrators only.
import { z } from "zod";
import { LEVELS, PLANS, type Caller, type Level } from "../../contract/call.ts";
import type { UserRow } from "../../storage/store/store.ts";
import type { Doors } from "../doors.ts";
import { endpoint } from "./endpoint.ts";
import { chosenId, iso, label, page, pageOf, time } from "./shapes.ts";

const role = z.enum(["admin", "user"]);
const roles = z.array(z.string().min(1).max(64)).max(32);
const plan = z.enum(PLANS);

const user = z.object({
  id: z.string(),
  tenantId: z.string(),
  name: z.string(),
  role,
  roles: z.array(z.string()),
  plan: plan.nullable(),
  level: z.enum(LEVELS).describe("Of the user's sign-ins, and of keys that name no level"),
  createdAt: time,
});

const view = (row: UserRow, level: Level): z.input<typeof user> => ({
  id: row.id,
  tenantId: row.tenantId,
  name: row.name,
  role: row.role,
  roles: [...row.roles],
  plan: row.plan,
  level,
  createdAt: iso(row.createdAt),
});

async function viewOf(row: UserRow, caller: Caller, doors: Doors): Promise<z.input<typeof user>> {
  const levelOf = await doors.directory.levels(caller);
  return view(row, levelOf(row));
}

export const createUser = endpoint({
  name: "users.createUser",
  method: "POST",
  path: "/users",
  access: "admin",
  summary: "Create a user",
  statuses: [201],
  input: z.strictObject({
    id: chosenId.optional(),
    name: label,
    role: role.default("user"),
    roles: roles.default(["tool_user"]),
    plan: plan.nullable().optional(),
  }),
  output: user,
  async run({ id, plan: chosen, ...rest }, { caller, doors, reply }) {
    const row = await doors.directory.createUser(caller, {
      ...rest,
      ...(id === undefined ? {} : { id }),
      ...(chosen === undefined ? {} : { plan: chosen }),
    });
    reply.headers["Location"] = `/api/v1/users/${row.id}`;
    return viewOf(row, caller, doors);
  },
});

export const listUsers = endpoint({
  name: "users.listUsers",
  method: "GET",
  path: "/users",
  access: "admin",
  summary: "Users of the tenant",
  input: page,
  output: z.object({ items: z.array(user), next: z.string().nullable() }),
  async run(input, { caller, doors }) {
    const levelOf = await doors.directory.levels(caller);
    const list = (rows: Parameters<typeof doors.directory.listUsers>[1]) =>
      doors.directory.listUsers(caller, rows);
    return pageOf(input, list, (row) => view(row, levelOf(row)));
  },
});

export const getUser = endpoint({
  name: "users.getUser",
  method: "GET",
  path: "/users/{id}",
  access: "admin",
  summary: "One user",
  input: z.strictObject({ id: chosenId }),
  output: user,
  run: async ({ id }, { caller, doors }) =>
    viewOf(await doors.directory.getUser(caller, id), caller, doors),
});

export const updateUser = endpoint({
  name: "users.updateUser",
  method: "PATCH",
  path: "/users/{id}",
  access: "admin",
  evenWhenUsedUp: true,
  summary: "Change a user; fields left out stay",
  input: z.strictObject({
    id: chosenId,
    name: label.optional(),
    role: role.optional(),
    roles: roles.optional(),
    plan: plan.nullable().optional(),
  }),
  output: user,
  async run({ id, ...change }, { caller, doors }) {
    return viewOf(await doors.directory.updateUser(caller, id, given(change)), caller, doors);
  },
});

/** The fields that were sent: absent means unchanged, null is a value. */
export function given<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
