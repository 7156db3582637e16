// The tool that stands behind every proxy of the comparison, over HTTP and over stdio.

export interface EchoMessage {
  readonly id?: number | string;
  readonly method: string;
  readonly params: { readonly arguments?: { readonly text?: string } };
}

const VERSION = "2026-07-28";
const SERVER_INFO = { name: "echo", version: "1.0.0" };
const PRIVATE = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
const META = { "io.modelcontextprotocol/serverInfo": SERVER_INFO };
const TOOL = {
  name: "echo",
  description: "Says the text again.",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

export const echoed = (params: EchoMessage["params"]): object => ({
  resultType: "complete",
  content: [{ type: "text", text: params.arguments?.text ?? "" }],
  _meta: META,
});

export const listed = (): object => ({ ...PRIVATE, tools: [TOOL], _meta: META });

export const discovered = (): object => ({
  ...PRIVATE,
  supportedVersions: [VERSION],
  capabilities: { tools: {} },
  _meta: META,
});

export const initialized = (): object => ({
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: SERVER_INFO,
});
