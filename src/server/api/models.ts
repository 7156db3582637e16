// Models of the tenant: those of the settings, and those that administrators add here. Keys go in and never come out.
import { z } from "zod";
import type { ModelView } from "../../reach/models/records.ts";
import { endpoint } from "./endpoint.ts";
import { iso, time } from "./shapes.ts";
import { given } from "./users.ts";

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/, "expected a name such as gpt-small");
const settings = z
  .record(z.string().min(1).max(64), z.json())
  .describe("As under `models` in the settings, without apiKey: provider, url, model, abilities …");
const apiKey = z.string().min(1).max(1_024).meta({ writeOnly: true }).describe("Kept sealed");
const keyReference = z.string().max(128).nullable().describe("env:NAME instead of a key");
const position = z.int().min(0).max(10_000);

const model = z.object({
  name: z.string(),
  settings: z.record(z.string(), z.json()),
  keyReference: z.string().nullable(),
  hasKey: z.boolean(),
  source: z.enum(["settings", "api"]),
  enabled: z.boolean(),
  position: z.int(),
  createdAt: time,
  updatedAt: time,
});

const view = ({ tenantId: _tenant, createdAt, updatedAt, ...row }: ModelView) =>
  ({ ...row, createdAt: iso(createdAt), updatedAt: iso(updatedAt) }) as z.input<typeof model>;

export const createModel = endpoint({
  name: "models.createModel",
  method: "POST",
  path: "/models",
  access: "admin",
  summary: "Add a model",
  statuses: [201],
  input: z.strictObject({
    name,
    settings,
    apiKey: apiKey.optional(),
    keyReference: keyReference.optional(),
    enabled: z.boolean().default(true),
    position: position.default(0),
  }),
  output: model,
  async run({ name: called, settings: newSettings, ...rest }, { caller, doors, reply }) {
    const row = await doors.models.create(caller, {
      ...given(rest),
      name: called,
      settings: newSettings,
    });
    reply.headers["Location"] = `/api/v1/models/${row.name}`;
    return view(row);
  },
});

export const listModels = endpoint({
  name: "models.listModels",
  method: "GET",
  path: "/models",
  access: "admin",
  summary: "Models of the tenant, in the order in which they are written",
  input: z.strictObject({}),
  output: z.object({ items: z.array(model) }),
  run: async (_input, { caller, doors }) => ({
    items: (await doors.models.list(caller)).map(view),
  }),
});

export const getModel = endpoint({
  name: "models.getModel",
  method: "GET",
  path: "/models/{name}",
  access: "admin",
  summary: "One model",
  input: z.strictObject({ name }),
  output: model,
  run: async (input, { caller, doors }) => view(await doors.models.get(caller, input.name)),
});

export const updateModel = endpoint({
  name: "models.updateModel",
  method: "PATCH",
  path: "/models/{name}",
  access: "admin",
  summary: "Change a model; fields left out stay, of the settings too",
  input: z.strictObject({
    name,
    settings: settings.optional(),
    apiKey: apiKey.optional(),
    keyReference: keyReference.optional(),
    enabled: z.boolean().optional(),
    position: position.optional(),
  }),
  output: model,
  run: async ({ name: called, settings: newSettings, ...rest }, { caller, doors }) =>
    view(
      await doors.models.update(caller, called, {
        ...given(rest),
        ...(newSettings === undefined ? {} : { settings: newSettings }),
      }),
    ),
});

export const removeModel = endpoint({
  name: "models.removeModel",
  method: "DELETE",
  path: "/models/{name}",
  access: "admin",
  summary: "Remove a model that was added here",
  input: z.strictObject({ name }),
  output: z.object({ removed: z.boolean() }),
  async run(input, { caller, doors }) {
    await doors.models.remove(caller, input.name);
    return { removed: true };
  },
});

const TEST_MS = 30_000;

export const testModel = endpoint({
  name: "models.testModel",
  method: "POST",
  path: "/models/{name}/test",
  access: "admin",
  summary: "Send a model a short test request, and answer what came back",
  input: z.strictObject({ name }),
  output: z.object({
    ok: z.boolean(),
    ms: z.number(),
    reply: z.string().optional(),
    usage: z.object({ input: z.number(), output: z.number() }).optional(),
    error: z
      .object({
        code: z.string(),
        reason: z.string(),
        message: z.string(),
        remedy: z.string().optional(),
      })
      .optional(),
  }),
  async run(input, { caller, doors }) {
    const result = await doors.models.test(caller, input.name, AbortSignal.timeout(TEST_MS));
    if (result.ok) {
      const { input: read, output: written } = result.usage;
      return { ...result, usage: { input: read, output: written } };
    }
    const { code, reason, message, remedy } = result.error;
    const { ok, ms } = result;
    return {
      ok,
      ms,
      error: { code, reason, message, ...(remedy === undefined ? {} : { remedy }) },
    };
  },
});
