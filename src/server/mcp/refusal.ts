import type { RpcError } from "./result.ts";

/** A deliberate JSON-RPC error on its way out of a handler. */
export class McpRefusal extends Error {
  readonly rpc: RpcError;
  constructor(rpc: RpcError) {
    super(rpc.message);
    this.rpc = rpc;
  }
}
