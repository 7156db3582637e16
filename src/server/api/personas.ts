// Personas: how agents of the tenant speak, and which tools they narrow themselves to. Administrators write them.
import { z } from "zod";
import { personaKnobsSchema } from "../../contract/agent-config.ts";
import type { PersonaRow } from "../../storage/store/store.ts";
import { endpoint } from "./endpoint.ts";
import { chosenId, iso, label, page, pageOf, time } from "./shapes.ts";
import { given } from "./users.ts";

const prompt = z.string().max(100_000).describe("Comes after the capsule's system prompt");
const traits = z.record(z.string().min(1).max(64), z.string().max(1_000));
const capabilities = z
  .array(z.string().min(1).max(128))
  .max(2000)
  .nullable()
  .describe("Tools it works with, of those its caller holds; null narrows nothing");

const persona = z.object({
  id: z.string(),
  tenantId: z.string(),
  name: z.string(),
  prompt: z.string(),
  traits: z.record(z.string(), z.string()),
  knobs: personaKnobsSchema,
  capabilities: z.array(z.string()).nullable(),
  createdAt: time,
  updatedAt: time,
});

const view = (row: PersonaRow): z.input<typeof persona> => ({
  id: row.id,
  tenantId: row.tenantId,
  name: row.name,
  prompt: row.prompt,
  traits: { ...row.traits },
  knobs: { ...row.knobs },
  capabilities: row.capabilities && [...row.capabilities],
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
});

export const createPersona = endpoint({
  name: "personas.createPersona",
  method: "POST",
  path: "/personas",
  access: "admin",
  summary: "Create a persona",
  statuses: [201],
  input: z.strictObject({
    id: chosenId.optional(),
    name: label,
    prompt: prompt.default(""),
    traits: traits.default({}),
    knobs: personaKnobsSchema.default({}),
    capabilities: capabilities.default(null),
  }),
  output: persona,
  async run({ id, ...rest }, { caller, doors, reply }) {
    const row = await doors.directory.createPersona(caller, {
      ...rest,
      ...(id === undefined ? {} : { id }),
    });
    reply.headers["Location"] = `/api/v1/personas/${row.id}`;
    return view(row);
  },
});

export const listPersonas = endpoint({
  name: "personas.listPersonas",
  method: "GET",
  path: "/personas",
  access: "caller",
  summary: "Personas of the tenant",
  input: page,
  output: z.object({ items: z.array(persona), next: z.string().nullable() }),
  run: (input, { caller, doors }) =>
    pageOf(input, (rows) => doors.directory.listPersonas(caller, rows), view),
});

export const getPersona = endpoint({
  name: "personas.getPersona",
  method: "GET",
  path: "/personas/{id}",
  access: "caller",
  summary: "One persona",
  input: z.strictObject({ id: chosenId }),
  output: persona,
  run: async ({ id }, { caller, doors }) => view(await doors.directory.getPersona(caller, id)),
});

export const updatePersona = endpoint({
  name: "personas.updatePersona",
  method: "PATCH",
  path: "/personas/{id}",
  access: "admin",
  summary: "Change a persona; fields left out stay",
  input: z.strictObject({
    id: chosenId,
    name: label.optional(),
    prompt: prompt.optional(),
    traits: traits.optional(),
    knobs: personaKnobsSchema.optional(),
    capabilities: capabilities.optional(),
  }),
  output: persona,
  run: async ({ id, ...change }, { caller, doors }) =>
    view(await doors.directory.updatePersona(caller, id, given(change))),
});

export const removePersona = endpoint({
  name: "personas.removePersona",
  method: "DELETE",
  path: "/personas/{id}",
  access: "admin",
  summary: "Remove a persona",
  input: z.strictObject({ id: chosenId }),
  output: z.object({ removed: z.boolean() }),
  async run({ id }, { caller, doors }) {
    await doors.directory.removePersona(caller, id);
    return { removed: true };
  },
});
