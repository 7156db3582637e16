// The SDK's servers, changed to send a task as the answer of a call unmodified: the SDK itself would add the content of
// an empty result.
import type * as ServerSdk from "@modelcontextprotocol/server";

export interface SdkServers {
  readonly TaskServer: typeof ServerSdk.Server;
  readonly TaskMcpServer: typeof ServerSdk.McpServer;
}

type Handler = (
  request: ServerSdk.JSONRPCRequest,
  ctx: ServerSdk.ServerContext,
) => Promise<ServerSdk.Result>;

export function sdkServers({ Server, McpServer }: typeof ServerSdk): SdkServers {
  class TaskServer extends Server {
    protected override _wrapHandler(method: string, handler: Handler): Handler {
      if (method !== "tools/call") return super._wrapHandler(method, handler);
      return async (request, ctx) => {
        let task: ServerSdk.Result | null = null;
        const checked = super._wrapHandler(method, async (asked, context) => {
          const result = await handler(asked, context);
          if (result["resultType"] !== "task") return result;
          task = result;
          return { content: [] };
        });
        const result = await checked(request, ctx);
        return task ?? result;
      };
    }
  }

  class TaskMcpServer extends McpServer {
    override readonly server: ServerSdk.Server;

    constructor(...[info, options]: ConstructorParameters<typeof McpServer>) {
      super(info, options);
      this.server = new TaskServer(info, options);
    }
  }
  return { TaskServer, TaskMcpServer };
}
