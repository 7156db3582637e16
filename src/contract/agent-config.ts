// How an agent works that acts through a capsule: its models, limits, tool policy and autonomy. All of it narrows.
import { z } from "zod";
import type { EgressLimit } from "./call.ts";
import type { Ask } from "./subject.ts";
import type { Tool } from "./tool.ts";

const modelName = z.string().min(1).max(128);
const pattern = z
  .string()
  .regex(
    /^[A-Za-z0-9_.-]{1,64}(\/([A-Za-z0-9_.:-]{1,128}|\*))?$/,
    "expected a tool (file/read), a category (file/*) or a governance class (read_only)",
  );
const patterns = z.array(pattern).max(500);

const mcpServer = z
  .strictObject({
    command: z.array(z.string().min(1).max(4_096)).min(1).max(64).optional(),
    args: z.array(z.string().max(4_096)).max(64).optional(),
    env: z.record(z.string().min(1).max(128), z.string().max(8_192)).optional(),
    timeout: z.number().positive().max(300).optional().describe("Seconds"),
    url: z
      .string()
      .max(2_048)
      .regex(/^https?:\/\/\S+$/, "expected an http:// or https:// address")
      .optional(),
    headers: z.record(z.string().min(1).max(128), z.string().max(8_192)).optional(),
  })
  .refine(
    ({ command, url }) => command === undefined || url === undefined,
    "expected command or url, not both",
  );

const limits = z.strictObject({
  rounds: z.int().min(1).max(100).optional().describe("Answers of the model in one turn"),
  turnSeconds: z.number().positive().max(86_400).optional(),
  turnCost: z.number().positive().max(1_000_000).optional().describe("US dollars"),
  toolCallsPerTurn: z.int().min(0).max(1_000).optional(),
});

const toolPolicy = z.strictObject({
  auto: patterns.default([]).describe("Runs without the question that autonomy would ask"),
  ask: patterns.default([]).describe("A person is asked before each call"),
  never: patterns.default([]).describe("Not held: for this capsule there is no such tool"),
});

const fields = {
  chatModel: modelName.nullable(),
  temperature: z.number().min(0).max(2).nullable(),
  maxTokens: z.int().min(1).max(1_000_000).nullable(),
  mcpServers: z
    .record(
      z
        .string()
        .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "expected the name of a server, such as github"),
      mcpServer,
    )
    .describe("Upstream servers, by name, whose tools the capsule may hold; empty: any"),
  limits,
  toolPolicy,
  autonomy: z
    .int()
    .min(1)
    .max(10)
    .nullable()
    .describe("1-3: every tool asks, no network; 4-6: dangerous ones ask, listed hosts only"),
  parallelReads: z.int().min(0).max(4),
};

/** Every capsule has exactly one. Fields that are left out change nothing. */
export const agentConfigSchema = z.strictObject({
  chatModel: fields.chatModel.default(null),
  temperature: fields.temperature.default(null),
  maxTokens: fields.maxTokens.default(null),
  mcpServers: fields.mcpServers.default({}),
  limits: limits.default({}),
  toolPolicy: toolPolicy.default({ auto: [], ask: [], never: [] }),
  autonomy: fields.autonomy.default(null),
  parallelReads: fields.parallelReads.default(0),
});

/** Of an edit: each field that is named is replaced. */
export const agentConfigChange = z.strictObject(fields).partial();

type Frozen<T> = T extends (infer One)[]
  ? readonly Frozen<One>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

export type AgentConfig = Frozen<z.output<typeof agentConfigSchema>>;
export type ToolPolicy = AgentConfig["toolPolicy"];

/** The models a capsule names; null: the first configured one that can do it. */
export const capsuleModelsSchema = z.strictObject({
  imageModel: modelName.nullable(),
  voiceModel: modelName.nullable(),
  transcriptionModel: modelName.nullable(),
  visionModel: modelName.nullable(),
  embeddingModel: modelName.nullable(),
  diagram: z.boolean().describe("False: no tool of the capsule draws diagrams"),
});
export type CapsuleModels = Readonly<z.output<typeof capsuleModelsSchema>>;

export const systemPromptSchema = z.string().max(100_000);

/** Everything about an agent that a capsule says. */
export interface CapsuleSettings extends CapsuleModels {
  readonly systemPrompt: string;
  readonly agentConfig: AgentConfig;
}

/** A capsule that says nothing: what the models, the limits and the rules say counts alone. */
export const CAPSULE_DEFAULTS: CapsuleSettings = Object.freeze({
  systemPrompt: "",
  agentConfig: Object.freeze(agentConfigSchema.parse({})),
  imageModel: null,
  voiceModel: null,
  transcriptionModel: null,
  visionModel: null,
  embeddingModel: null,
  diagram: true,
});

/** What a capsule asks of the gate beyond the tools it holds. */
export interface CapsuleRules {
  readonly egress: EgressLimit | null;
  /** The rule that keeps the tool away, as its arguments make it count; null: none. */
  forbids(tool: Tool): string | null;
  /** Why a person must be asked; null: the capsule does not ask. */
  asks(tool: Tool): Ask | null;
}

export const personaKnobsSchema = z.strictObject({
  intelligence: z.int().min(1).max(10).optional(),
  resource: z.number().min(0).max(1_000_000).optional().describe("US dollars a turn may cost"),
});
export type PersonaKnobs = Readonly<z.output<typeof personaKnobsSchema>>;
