// What a server can be asked besides its tools, as capabilities that are reviewed, gated and recorded like tools.
import type { JsonObject } from "../../../contract/call.ts";
import type { ForeignDefinition, UpstreamMethod } from "../../../storage/store/store.ts";

/** Their names; no tool of a server may have them. */
export const PSEUDO_NAMES: Readonly<Partial<Record<UpstreamMethod, string>>> = {
  "resources/read": "resources_read",
  "prompts/get": "prompts_get",
  "completion/complete": "completion_complete",
};

const text = { type: "string", minLength: 1, maxLength: 8_192 } as const;

const RESOURCES: ForeignDefinition = {
  method: "resources/read",
  name: "",
  title: "Read a resource",
  description: "Reads a resource that the server offers.",
  inputSchema: {
    type: "object",
    properties: { uri: text },
    required: ["uri"],
    additionalProperties: false,
  },
  outputSchema: null,
  annotations: { readOnlyHint: true },
  operation: null,
};

const PROMPTS: ForeignDefinition = {
  method: "prompts/get",
  name: "",
  title: "Get a prompt",
  description: "Fills in a prompt that the server offers.",
  inputSchema: {
    type: "object",
    properties: {
      name: text,
      arguments: { type: "object", additionalProperties: { type: "string" } },
    },
    required: ["name"],
    additionalProperties: false,
  },
  outputSchema: null,
  annotations: { readOnlyHint: true },
  operation: null,
};

const COMPLETIONS: ForeignDefinition = {
  method: "completion/complete",
  name: "",
  title: "Complete an argument",
  description: "Proposes values for an argument of a prompt or of a resource template.",
  inputSchema: {
    type: "object",
    properties: {
      ref: { type: "object" },
      argument: { type: "object" },
      context: { type: "object" },
    },
    required: ["ref", "argument"],
    additionalProperties: false,
  },
  outputSchema: null,
  annotations: { readOnlyHint: true },
  operation: null,
};

/** Those that a server with these capabilities has. */
export function pseudoDefinitions(capabilities: JsonObject): ForeignDefinition[] {
  return [
    ...(capabilities["resources"] === undefined ? [] : [RESOURCES]),
    ...(capabilities["prompts"] === undefined ? [] : [PROMPTS]),
    ...(capabilities["completions"] === undefined ? [] : [COMPLETIONS]),
  ];
}
