// Upstream servers: how they are reached, and which of their tools are approved. Administrators only.
import { z } from "zod";
import type { TransportInput } from "../../../reach/upstream/admin/server-admin.ts";
import { endpoint, fieldFault } from "../endpoint.ts";
import {
  details,
  folders as foldersInput,
  faultShape,
  faultShown,
  riskInput,
  server,
  serverName,
  serverShown,
  serverTool,
  settingsInput,
  terms,
  toolShown,
  transportInput,
  tried,
  triedShown,
} from "./shapes.ts";
import { chosenId, fieldFaultShape, iso, isoOrNull, jsonObject, time } from "../shapes.ts";

const named = z.strictObject({ name: serverName });
const description = z.string().trim().max(500);
const tool = z.string().min(1).max(128).describe("`server/tool`, or the tool's part alone");
const tools = z.array(tool).min(1).max(1_000);
const credential = z.string().min(1).max(64).describe("As ${credential:NAME} names it");

/** It came as JSON, so every part of a definition is. */
const given = (transport: z.output<typeof transportInput>): TransportInput =>
  transport as TransportInput;

export const addServer = endpoint({
  name: "servers.addServer",
  method: "POST",
  path: "/servers",
  access: "admin",
  summary: "Add a server and connect to it; its tools wait for approval",
  statuses: [201, 200],
  input: z.strictObject({
    name: serverName,
    description: description.optional(),
    transport: transportInput,
    settings: settingsInput.optional(),
    enabled: z.boolean().optional(),
    credentials: z
      .record(credential, z.string().min(1).max(16_384))
      .optional()
      .describe("Values for ${credential:NAME}; sealed at once, never shown again"),
    dryRun: z.boolean().default(false).describe("Connects and lists, keeps nothing"),
  }),
  output: tried,
  async run(input, { caller, doors, reply, signal }) {
    const made = await doors.servers.add(
      caller,
      { ...input, transport: given(input.transport) },
      signal,
    );
    if (input.dryRun) reply.status = 200;
    else reply.headers["Location"] = `/api/v1/servers/${input.name}`;
    return triedShown(made);
  },
});

export const listServers = endpoint({
  name: "servers.listServers",
  method: "GET",
  path: "/servers",
  access: "admin",
  summary: "Servers of the tenant, with health and how many tools are in which state",
  input: z.strictObject({}),
  output: z.object({ items: z.array(server) }),
  run: async (_, { caller, doors }) => ({
    items: (await doors.servers.list(caller)).map(serverShown),
  }),
});

export const getServer = endpoint({
  name: "servers.getServer",
  method: "GET",
  path: "/servers/{name}",
  access: "admin",
  summary: "One server",
  input: named,
  output: server,
  run: async ({ name }, { caller, doors }) => serverShown(await doors.servers.get(caller, name)),
});

export const updateServer = endpoint({
  name: "servers.updateServer",
  method: "PATCH",
  path: "/servers/{name}",
  access: "admin",
  summary: "Change a server or switch it on or off; fields left out stay",
  input: named.extend({
    description: description.optional(),
    transport: transportInput.optional().describe("Replaces the whole of it"),
    settings: settingsInput.optional(),
    enabled: z.boolean().optional(),
  }),
  output: tried,
  async run({ name, ...edit }, { caller, doors, signal }) {
    if (Object.values(edit).every((value) => value === undefined))
      throw fieldFault("", "nothing to change", "name description, transport, settings or enabled");
    const { transport, ...rest } = edit;
    const change = transport === undefined ? rest : { ...rest, transport: given(transport) };
    return triedShown(await doors.servers.update(caller, name, change, signal));
  },
});

export const removeServer = endpoint({
  name: "servers.removeServer",
  method: "DELETE",
  path: "/servers/{name}",
  access: "admin",
  summary: "Remove a server with its tools, its credentials, and all users' rights to its tools",
  input: named,
  output: server,
  run: async ({ name }, { caller, doors }) => serverShown(await doors.servers.remove(caller, name)),
});

export const restartServer = endpoint({
  name: "servers.restartServer",
  method: "POST",
  path: "/servers/{name}/restart",
  access: "admin",
  summary: "Connect again and read what it offers",
  input: named,
  output: tried,
  run: async ({ name }, { caller, doors, signal }) =>
    triedShown(await doors.servers.restart(caller, name, signal)),
});

export const lookAtServer = endpoint({
  name: "servers.lookAtServer",
  method: "POST",
  path: "/servers/{name}/look",
  access: "admin",
  summary: "Read what it offers now",
  input: named,
  output: tried,
  run: async ({ name }, { caller, doors, signal }) =>
    triedShown(await doors.servers.check(caller, name, signal)),
});

export const getServerLogs = endpoint({
  name: "servers.getServerLogs",
  method: "GET",
  path: "/servers/{name}/logs",
  access: "admin",
  summary: "The last lines it wrote, secrets masked",
  input: named.extend({ last: z.coerce.number().int().min(1).max(1_000).default(200) }),
  output: z.object({ lines: z.array(z.string()) }),
  run: async ({ name, last }, { caller, doors }) => ({
    lines: (await doors.servers.logs(caller, name)).slice(-last),
  }),
});

export const listServerTools = endpoint({
  name: "servers.listServerTools",
  method: "GET",
  path: "/servers/{name}/tools",
  access: "admin",
  summary: "What it offers and offered: states, terms, findings, pins",
  input: named.extend({ state: serverTool.shape.state.optional() }),
  output: z.object({ items: z.array(serverTool) }),
  async run({ name, state }, { caller, doors }) {
    const items = await doors.servers.tools(caller, name);
    return {
      items: items.filter((one) => state === undefined || one.state === state).map(toolShown),
    };
  },
});

export const getServerTool = endpoint({
  name: "servers.getServerTool",
  method: "GET",
  path: "/servers/{name}/tools/{tool}",
  access: "admin",
  summary: "One of its tools in full: the text, the difference to what was approved, all versions",
  input: named.extend({ tool }),
  output: details,
  async run({ name, tool: wanted }, { caller, doors }) {
    const { text, definition, diff, proposed, versions, capsules, ...view } =
      await doors.servers.tool(caller, name, wanted);
    return {
      ...toolShown(view),
      text,
      definition,
      diff: [...diff],
      proposed,
      versions: versions.map((version) => ({
        ...version,
        firstSeenAt: iso(version.firstSeenAt),
        approvedAt: isoOrNull(version.approvedAt),
      })),
      capsules: [...capsules],
    };
  },
});

export const approveServerTools = endpoint({
  name: "servers.approveServerTools",
  method: "POST",
  path: "/servers/{name}/approve",
  access: "admin",
  summary: "Agree to tools as they are offered now, so that they can be called",
  input: named.extend({
    tools: tools.optional().describe("Left out: all that are pending"),
    terms: z
      .strictObject({ ...terms.shape, risk: riskInput })
      .partial()
      .optional()
      .describe("Over what was proposed, for each of them"),
    capsules: z
      .array(chosenId)
      .max(100)
      .optional()
      .describe(
        "Capsules that get them; left out: those with every native tool, and the default one",
      ),
    grant: z
      .enum(["members", "none"])
      .default("members")
      .describe("Who may execute them at once: every member of the tenant, or nobody"),
    expectedPins: z
      .record(tool, z.string().min(8).max(64))
      .optional()
      .describe("By name; refused when something else is offered by now"),
    evenWithFindings: z.boolean().default(false).describe("Also where a finding is a danger"),
  }),
  output: z.object({
    tools: z.array(serverTool),
    capsules: z.array(z.string()),
    grant: z.enum(["members", "none"]),
  }),
  async run({ name, ...approval }, { caller, doors }) {
    const made = await doors.servers.approve(caller, name, approval);
    return { tools: made.tools.map(toolShown), capsules: [...made.capsules], grant: made.grant };
  },
});

export const rejectServerTools = endpoint({
  name: "servers.rejectServerTools",
  method: "POST",
  path: "/servers/{name}/reject",
  access: "admin",
  summary: "Turn tools down; of a changed one only what is new",
  input: named.extend({ tools, reason: z.string().trim().min(1).max(500).optional() }),
  output: z.object({ tools: z.array(serverTool) }),
  async run({ name, tools: wanted, reason }, { caller, doors }) {
    const rows = await doors.servers.reject(caller, name, wanted, reason ?? null);
    return { tools: rows.map(toolShown) };
  },
});

export const rollbackServerTool = endpoint({
  name: "servers.rollbackServerTool",
  method: "POST",
  path: "/servers/{name}/rollback",
  access: "admin",
  summary:
    "An earlier definition is the approved one again; callable while exactly that is offered",
  input: named.extend({
    tool,
    pin: z.string().regex(/^[0-9a-f]{8,64}$/, "expected 8 to 64 characters of a pin"),
  }),
  output: serverTool,
  run: async ({ name, tool: wanted, pin }, { caller, doors }) =>
    toolShown(await doors.servers.rollback(caller, name, wanted, pin)),
});

export const importServers = endpoint({
  name: "servers.importServers",
  method: "POST",
  path: "/servers/import",
  access: "admin",
  summary: "Add the servers of an AI client's configuration; secrets in it are sealed",
  input: z.strictObject({
    config: jsonObject
      .optional()
      .describe("An object with mcpServers, or with servers as VS Code has it"),
    text: z.string().max(1_000_000).optional().describe("The same as text; comments are fine"),
    only: z.array(z.string().min(1).max(256)).max(200).optional().describe("Of these names alone"),
    folders: foldersInput
      .optional()
      .describe("Folders of the host that its programs may have, at the same path"),
    network: z
      .array(z.string().min(1).max(4_096))
      .max(100)
      .optional()
      .describe("Hosts that its programs may reach; * for any public one"),
    dryRun: z.boolean().default(false).describe("Connects and lists, keeps nothing"),
  }),
  output: z.object({
    servers: z.array(
      z.object({
        name: z.string(),
        called: z.string(),
        tried: tried.nullable(),
        fault: faultShape.nullable(),
        needs: z.array(z.string()),
        ignored: z.array(z.string()),
      }),
    ),
    faults: z.array(fieldFaultShape).describe("Entries that cannot be taken, each with its place"),
  }),
  async run({ config, text, only, folders, network: hosts, dryRun }, { caller, doors, signal }) {
    if ((config === undefined) === (text === undefined))
      throw fieldFault(
        "/config",
        "expected either config or text",
        "send the file of your AI client as text",
      );
    const box = { ...(folders ? { folders } : {}), ...(hosts ? { network: { hosts } } : {}) };
    const done = await doors.servers.import(
      caller,
      text ?? JSON.stringify(config),
      { only, dryRun, ...box },
      signal,
    );
    return {
      servers: done.servers.map((one) => ({
        ...one,
        tried: one.tried && triedShown(one.tried),
        fault: faultShown(one.fault),
        needs: [...one.needs],
        ignored: [...one.ignored],
      })),
      faults: done.faults.map((one) => ({ ...one })),
    };
  },
});

const kept = z.object({ name: z.string(), updatedAt: time });

export const listServerCredentials = endpoint({
  name: "servers.listServerCredentials",
  method: "GET",
  path: "/servers/{name}/credentials",
  access: "admin",
  summary: "Names of the credentials stored for it, shared and the caller's own; never values",
  input: named,
  output: z.object({ shared: z.array(kept), own: z.array(kept) }),
  async run({ name }, { caller, doors }) {
    const { shared, own } = await doors.servers.credentials(caller, name);
    const shown = (row: (typeof shared)[number]) => ({ ...row, updatedAt: iso(row.updatedAt) });
    return { shared: shared.map(shown), own: own.map(shown) };
  },
});

export const putServerCredential = endpoint({
  name: "servers.putServerCredential",
  method: "POST",
  path: "/servers/{name}/credentials",
  access: "caller",
  summary:
    "Store a credential, shared (administrators) or the caller's own; sealed, never shown again",
  statuses: [201],
  input: named.extend({
    credential,
    value: z.string().min(1).max(16_384),
    own: z.boolean().default(false),
  }),
  output: z.object({ server: z.string(), credential: z.string(), own: z.boolean() }),
  async run({ name, credential: as, value, own }, { caller, doors }) {
    await doors.servers.putCredential(caller, name, { name: as, value, own });
    return { server: name, credential: as, own };
  },
});

export const removeServerCredential = endpoint({
  name: "servers.removeServerCredential",
  method: "DELETE",
  path: "/servers/{name}/credentials/{credential}",
  access: "caller",
  summary: "Forget a credential",
  input: named.extend({ credential, own: z.stringbool().or(z.boolean()).default(false) }),
  output: z.object({ removed: z.boolean() }),
  async run({ name, credential: as, own }, { caller, doors }) {
    return { removed: await doors.servers.removeCredential(caller, name, { name: as, own }) };
  },
});
