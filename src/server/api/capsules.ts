// Capsules: which tools the callers that hold them may use. Administrators only.
import { z } from "zod";
import {
  agentConfigChange,
  agentConfigSchema,
  capsuleModelsSchema,
  systemPromptSchema,
  type CapsuleSettings,
} from "../../contract/agent-config.ts";
import {
  CAPSULE_STATUSES,
  LISTINGS,
  type CapsuleRow,
  type CapsuleVersionRow,
} from "../../storage/store/store.ts";
import { endpoint, fieldFault } from "./endpoint.ts";
import { chosenId, iso, label, page, pageOf, time } from "./shapes.ts";
import { given } from "./users.ts";

const status = z.enum(CAPSULE_STATUSES);
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

/** What it says about agents, as it is sent. */
const settings = {
  systemPrompt: systemPromptSchema.optional(),
  agentConfig: agentConfigChange.optional(),
  ...capsuleModelsSchema.partial().shape,
};

const settingsView = {
  systemPrompt: z.string(),
  agentConfig: agentConfigSchema,
  ...capsuleModelsSchema.shape,
};

const capsule = z.object({
  id: z.string(),
  tenantId: z.string(),
  name: z.string(),
  version: z.int(),
  parent: z.int().nullable().describe("The version it was made from"),
  status,
  default: z.boolean(),
  capabilities: z.array(z.string()),
  listing,
  ...settingsView,
  createdAt: time,
  updatedAt: time,
});

const versionBody = z.object({
  name: z.string(),
  capabilities: z.array(z.string()),
  listing,
  ...settingsView,
});

const version = z.object({
  capsuleId: z.string(),
  version: z.int(),
  status,
  parent: z.int().nullable(),
  author: z.string().nullable(),
  createdAt: time,
  body: versionBody,
});

const settingsOf = (row: CapsuleSettings) => ({
  systemPrompt: row.systemPrompt,
  agentConfig: structuredClone(row.agentConfig) as z.input<typeof agentConfigSchema>,
  imageModel: row.imageModel,
  voiceModel: row.voiceModel,
  transcriptionModel: row.transcriptionModel,
  visionModel: row.visionModel,
  embeddingModel: row.embeddingModel,
  diagram: row.diagram,
});

const versionView = ({ body, createdAt, ...row }: CapsuleVersionRow): z.input<typeof version> => ({
  ...row,
  createdAt: iso(createdAt),
  body: {
    name: body.name,
    capabilities: [...body.capabilities],
    listing: body.listing,
    ...settingsOf(body),
  },
});

const view = (row: CapsuleRow): z.input<typeof capsule> => ({
  id: row.id,
  tenantId: row.tenantId,
  name: row.name,
  version: row.version,
  parent: row.parent,
  status: row.status,
  default: row.isDefault,
  capabilities: [...row.capabilities],
  listing: row.listing,
  ...settingsOf(row),
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
    ...settings,
  }),
  output: capsule,
  async run({ id, name, capabilities: tools, ...rest }, { caller, doors, reply }) {
    const row = await doors.directory.createCapsule(caller, {
      ...sent(rest),
      name,
      capabilities: tools,
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
  summary:
    "Change a capsule: a new version, which acts at once unless it is a draft; fields left out stay",
  input: z.strictObject({
    id: chosenId,
    name: label.optional(),
    capabilities: capabilities.optional(),
    default: z.boolean().optional(),
    status: status.optional(),
    listing: listing.optional(),
    ...settings,
    draft: z
      .boolean()
      .default(false)
      .describe("Only write it down: the version acts once it is activated"),
  }),
  output: capsule.extend({ drafted: z.int().optional().describe("The version that was drafted") }),
  async run({ id, default: isDefault, draft, ...change }, { caller, doors }) {
    const { directory } = doors;
    if (!draft)
      return view(await directory.updateCapsule(caller, id, sent({ ...change, isDefault })));
    for (const field of ["default", "status"] as const)
      if ({ default: isDefault, status: change.status }[field] !== undefined)
        throw fieldFault(`/${field}`, "a draft changes what a version says, and nothing else");
    const { version: drafted } = await directory.draftCapsule(caller, id, sent(change));
    return { ...view(await directory.getCapsule(caller, id)), drafted };
  },
});

export const listCapsuleVersions = endpoint({
  name: "capsules.listCapsuleVersions",
  method: "GET",
  path: "/capsules/{id}/versions",
  access: "admin",
  summary: "Versions of a capsule, newest first",
  input: z.strictObject({
    id: chosenId,
    limit: z.coerce.number().int().min(1).max(100).default(50),
    before: z.coerce.number().int().min(1).optional(),
  }),
  output: z.object({ items: z.array(version), next: z.int().nullable() }),
  async run({ id, limit, before }, { caller, doors }) {
    const page = { limit: limit + 1, ...(before === undefined ? {} : { before }) };
    const rows = await doors.directory.listCapsuleVersions(caller, id, page);
    const items = rows.slice(0, limit).map(versionView);
    return { items, next: rows.length > limit ? (items.at(-1)?.version ?? null) : null };
  },
});

const differences = z.array(z.object({ path: z.string(), from: z.json(), to: z.json() }));
const number = z.coerce.number().int().min(1);

export const compareCapsuleVersions = endpoint({
  name: "capsules.compareCapsuleVersions",
  method: "GET",
  path: "/capsules/{id}/versions/{from}/changes/{to}",
  access: "admin",
  summary: "What differs between two versions of a capsule",
  input: z.strictObject({ id: chosenId, from: number, to: number }),
  output: z.object({ differences }),
  async run({ id, from, to }, { caller, doors }) {
    const found = await doors.directory.compareCapsuleVersions(caller, id, { from, to });
    return { differences: found as z.input<typeof differences> };
  },
});

export const getCapsuleVersion = endpoint({
  name: "capsules.getCapsuleVersion",
  method: "GET",
  path: "/capsules/{id}/versions/{version}",
  access: "admin",
  summary: "One version of a capsule",
  input: z.strictObject({ id: chosenId, version: number }),
  output: version,
  run: async (input, { caller, doors }) =>
    versionView(await doors.directory.getCapsuleVersion(caller, input.id, input.version)),
});

export const activateCapsuleVersion = endpoint({
  name: "capsules.activateCapsuleVersion",
  method: "POST",
  path: "/capsules/{id}/versions/{version}/activate",
  access: "admin",
  summary: "Let a version act: a draft as it is, an older one as a new version with its body",
  input: z.strictObject({ id: chosenId, version: number }),
  output: capsule,
  run: async (input, { caller, doors }) =>
    view(await doors.directory.activateCapsuleVersion(caller, input.id, input.version)),
});

/** The fields that were sent, those of the agent's settings too. */
function sent<T extends { agentConfig?: object | undefined }>({ agentConfig, ...rest }: T) {
  return {
    ...given(rest),
    ...(agentConfig === undefined ? {} : { agentConfig: given({ ...agentConfig }) }),
  };
}
