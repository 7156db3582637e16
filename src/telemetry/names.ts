// Every name that traces and metrics over OTLP are made of. The conventions for MCP and GenAI are still moving: what
// changes there changes here only.

export const SCOPE = "ostiary";

export const SPAN = {
  execTool: "exec_tool",
  gate: (stage: string): string => `gate ${stage}`,
  executeTool: (tool: string): string => `execute_tool ${tool}`,
  /** `tools/call file_read`; a name that no tool has is arbitrary text of the client. */
  mcp: (method: string, target: string | null): string =>
    target === null ? method : `${method} ${target}`,
  model: (operation: string, model: string): string => `${operation} ${model}`,
} as const;

/** Events of `exec_tool`, and lines of the log. */
export const EVENT = {
  started: "tool_call_started",
  completed: "tool_call_completed",
  failed: "tool_call_failed",
  blocked: "tool_call_blocked",
} as const;

export const ATTR = {
  mcpMethod: "mcp.method.name",
  mcpProtocol: "mcp.protocol.version",
  mcpSession: "mcp.session.id",
  rpcId: "jsonrpc.request.id",
  rpcStatus: "rpc.response.status_code",
  operation: "gen_ai.operation.name",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCallId: "gen_ai.tool.call.id",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  agentId: "gen_ai.agent.id",
  conversation: "gen_ai.conversation.id",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  requestMaxTokens: "gen_ai.request.max_tokens",
  requestStream: "gen_ai.request.stream",
  /** Seconds. */
  firstChunk: "gen_ai.response.time_to_first_chunk",
  errorType: "error.type",
  transport: "network.transport",
  protocol: "network.protocol.name",
  serverAddress: "server.address",
  serverPort: "server.port",
  clientAddress: "client.address",
  httpMethod: "http.request.method",
  httpRoute: "http.route",
  httpStatus: "http.response.status_code",
  execution: "ostiary.execution.id",
  request: "ostiary.request.id",
  tenant: "ostiary.tenant",
  callerKind: "ostiary.caller.kind",
  entry: "ostiary.entry",
  stage: "ostiary.stage.name",
  verdict: "ostiary.stage.verdict",
  stageCode: "ostiary.stage.code",
  policyVersion: "ostiary.policy.version",
  toolPin: "ostiary.tool.pin",
  mode: "ostiary.mode",
  approval: "ostiary.approval.id",
  sandbox: "ostiary.sandbox.kind",
  upstream: "ostiary.upstream.name",
  status: "ostiary.status",
  reason: "ostiary.reason",
  latency: "latency_ms",
  success: "success",
} as const;

export const METRIC = {
  server: "mcp.server.operation.duration",
  client: "mcp.client.operation.duration",
} as const;

/** Seconds. */
export const DURATION_BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

export const EXECUTE_TOOL = "execute_tool";
/** `error.type` of a result that says `isError`. */
export const TOOL_ERROR = "tool_error";
/** What the conventions call a value that is not one of those known. */
export const OTHER = "_OTHER";

/** Methods a client may send; anything else is reported as OTHER, since clients choose the text. */
export const MCP_METHODS: ReadonlySet<string> = new Set([
  "completion/complete",
  "initialize",
  "logging/setLevel",
  "ping",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "server/discover",
  "subscriptions/listen",
  "tasks/cancel",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tools/call",
  "tools/list",
]);
