// What the audit record says of a server: where it is and how it is isolated, never its credentials.
import type { JsonObject } from "../../../contract/call.ts";
import type { ServerRow } from "../../../storage/store/store.ts";

export function auditFacts(
  { name, transport, enabled, origin }: ServerRow,
  more: JsonObject = {},
): JsonObject {
  const where =
    transport.kind === "stdio"
      ? {
          argv: transport.argv,
          isolation: transport.isolation,
          folders: transport.folders.map(({ path, access }) => `${path} ${access}`),
          network: transport.network === "none" ? "none" : transport.network.hosts,
        }
      : { host: URL.parse(transport.url)?.host ?? "" };
  return { server: name, kind: transport.kind, ...where, enabled, origin, ...more };
}
