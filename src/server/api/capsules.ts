// Capsules: which tools the callers that hold them may use (requirements §2.12). Administrators only.
import { z } from "zod";
import { LISTINGS, type CapsuleRow } from "../../storage/store/store.ts";
import { endpoint } from "./endpoint.ts";
import { chosenId, iso, label, page, pageOf, time } from "./shapes.ts";
import { given } from "./users.ts";

const status = z.enum(["draft", "active", "archived"]);
const capabilities = z
  .array(z.string().min(1).max(128))
  .max(2000)
  .describe(
    "Tool names; server/tool@<12 of its pin> only while that definition is approved; * stands for every native tool",
  );

const listing = z
  .enum(LISTINGS)
  .describe(
    "What MCP clients are shown: every tool, or ostiary_find_tools and ostiary_call to reach them with",
  );

const capsule = z.object({
  id: z.string(),
  tenantId: z.string(),
  name: z.string(),
  version: z.int(),
  status,
  default: z.boolean(),
  capabilities: z.array(z.string()),
  listing,
  createdAt: time,
  updatedAt: time,
});

const view = (row: CapsuleRow): z.input<typeof capsule> => ({
  id: row.id,
  tenantId: row.tenantId,
  name: row.name,
  version: row.version,
  status: row.status,
  default: row.isDefault,
  capabilities: [...row.capabilities],
  listing: row.listing,
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
});

export const createCapsule = endpoint({
  name: "capsules.createCapsule",
  method: "POST",
  path: "/capsules",
  access: "admin",
  summary: "Create a capsule",
  statuses: [201],
  input: z.strictObject({
    id: chosenId.optional(),
    name: label,
    capabilities,
    default: z.boolean().default(false),
    status: status.default("active"),
    listing: listing.default("full"),
  }),
  output: capsule,
  async run({ id, ...rest }, { caller, doors, reply }) {
    const row = await doors.directory.createCapsule(caller, {
      ...rest,
      ...(id === undefined ? {} : { id }),
    });
    reply.headers["Location"] = `/api/v1/capsules/${row.id}`;
    return view(row);
  },
});

export const listCapsules = endpoint({
  name: "capsules.listCapsules",
  method: "GET",
  path: "/capsules",
  access: "admin",
  summary: "Capsules of the tenant",
  input: page,
  output: z.object({ items: z.array(capsule), next: z.string().nullable() }),
  run: (input, { caller, doors }) =>
    pageOf(input, (rows) => doors.directory.listCapsules(caller, rows), view),
});

export const getCapsule = endpoint({
  name: "capsules.getCapsule",
  method: "GET",
  path: "/capsules/{id}",
  access: "admin",
  summary: "One capsule",
  input: z.strictObject({ id: chosenId }),
  output: capsule,
  run: async ({ id }, { caller, doors }) => view(await doors.directory.getCapsule(caller, id)),
});

export const updateCapsule = endpoint({
  name: "capsules.updateCapsule",
  method: "PATCH",
  path: "/capsules/{id}",
  access: "admin",
  summary: "Change a capsule; its version rises, fields left out stay",
  input: z.strictObject({
    id: chosenId,
    name: label.optional(),
    capabilities: capabilities.optional(),
    default: z.boolean().optional(),
    status: status.optional(),
    listing: listing.optional(),
  }),
  output: capsule,
  async run({ id, default: isDefault, ...change }, { caller, doors }) {
    return view(await doors.directory.updateCapsule(caller, id, given({ ...change, isDefault })));
  },
});
