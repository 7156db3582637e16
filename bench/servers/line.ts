// A benchmark server prints its address as one JSON line for its parent, and ends on SIGTERM.
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export function announce(server: Server): void {
  server.keepAliveTimeout = 65_000;
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    console.log(JSON.stringify({ port }));
  });
  process.on("SIGTERM", () => process.exit(0));
}
