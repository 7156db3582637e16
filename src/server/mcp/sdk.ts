// The SDK is loaded on first use: it costs a quarter of a second and tens of megabytes that an idle server need not
// pay.
import type * as NodeSdk from "@modelcontextprotocol/node";
import type * as ServerSdk from "@modelcontextprotocol/server";
import { sdkServers, type SdkServers } from "./tasks/sdk-servers.ts";

export interface Sdk extends SdkServers {
  readonly server: typeof ServerSdk;
  readonly node: typeof NodeSdk;
}

export async function loadSdk(): Promise<Sdk> {
  const [server, node] = await Promise.all([
    import("@modelcontextprotocol/server"),
    import("@modelcontextprotocol/node"),
  ]);
  return { server, node, ...sdkServers(server) };
}
