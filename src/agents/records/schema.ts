// What a file of agents may say. A field that is left out stays as it is; of a new record it has its usual value.
import { z } from "zod";
import {
  agentConfigChange,
  capsuleModelsSchema,
  personaKnobsSchema,
  systemPromptSchema,
} from "../../contract/agent-config.ts";
import { CAPSULE_STATUSES, LISTINGS } from "../../storage/store/store.ts";

const id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "expected an id: 1 to 64 of A-Z a-z 0-9 _ -");
const modelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/, "expected a name such as gpt-small");
const label = z.string().trim().min(1).max(200);
const tools = z.array(z.string().min(1).max(128)).max(2_000);

const model = z.strictObject({
  settings: z
    .record(z.string().min(1).max(64), z.json())
    .refine((settings) => !("apiKey" in settings), {
      path: ["apiKey"],
      message: "a file holds no keys: write keyReference: env:NAME beside settings",
    })
    .optional(),
  keyReference: z.string().max(128).nullable().optional(),
  enabled: z.boolean().optional(),
  position: z.int().min(0).max(10_000).optional(),
});

const capsule = z.strictObject({
  name: label.optional(),
  status: z.enum(CAPSULE_STATUSES).optional(),
  default: z.boolean().optional(),
  listing: z.enum(LISTINGS).optional(),
  capabilities: tools.optional(),
  systemPrompt: systemPromptSchema.optional(),
  ...capsuleModelsSchema.partial().shape,
  agentConfig: agentConfigChange.optional(),
});

const persona = z.strictObject({
  name: label.optional(),
  prompt: z.string().max(100_000).optional(),
  traits: z.record(z.string().min(1).max(64), z.string().max(1_000)).optional(),
  knobs: personaKnobsSchema.optional(),
  capabilities: tools.nullable().optional(),
});

export const agentFile = z.strictObject({
  version: z.literal(1),
  models: z.record(modelName, model).default({}),
  capsules: z.record(id, capsule).default({}),
  personas: z.record(id, persona).default({}),
});

export type AgentFile = z.output<typeof agentFile>;
export type CapsuleEntry = AgentFile["capsules"][string];
export type ModelEntry = AgentFile["models"][string];
export type PersonaEntry = AgentFile["personas"][string];
