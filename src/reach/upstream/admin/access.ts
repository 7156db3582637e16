// Which servers a caller may see, change, or store a credential for.
import type { Caller } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow, Store } from "../../../storage/store/store.ts";

export interface ServerAccess {
  /** A server of the administrator's tenant. */
  own(actor: Caller, name: string): Promise<ServerRow>;
  /** The same, if it was added here; a server of the settings is changed in the settings. */
  changeable(actor: Caller, name: string): Promise<ServerRow>;
  /** A server that takes the caller's own credential. For others it does not exist. */
  takesOwnCredential(actor: Caller, name: string): Promise<ServerRow>;
}

export function createServerAccess(servers: Pick<Store["servers"], "get">): ServerAccess {
  const own = async (actor: Caller, name: string): Promise<ServerRow> => {
    assertAdmin(actor);
    const row = await servers.get(name);
    if (row?.tenantId === actor.tenantId) return row;
    throw serverNotFound(name, "list those of your tenant: ostiary servers list");
  };
  return {
    own,
    async changeable(actor, name) {
      const row = await own(actor, name);
      if (row.origin === "api") return row;
      throw new AppError(
        "CONFLICT",
        "stale",
        `server ${name} comes from the configuration, got a change of it here`,
        { remedy: "change mcpServers in the settings and start again" },
      );
    },
    async takesOwnCredential(actor, name) {
      const row = await servers.get(name);
      if (
        row?.tenantId === actor.tenantId &&
        (actor.role === "admin" || row.settings.credentials === "user")
      )
        return row;
      throw serverNotFound(name, "ask an administrator whether it takes credentials of your own");
    },
  };
}

export function assertAdmin(actor: Caller): void {
  if (actor.role !== "admin")
    throw new AppError(
      "FORBIDDEN",
      "admin_only",
      `only administrators define servers, got ${actor.userId}`,
      { remedy: "ask an administrator" },
    );
}

export const serverNotFound = (name: string, remedy: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Server '${name}' not found`, { remedy });
