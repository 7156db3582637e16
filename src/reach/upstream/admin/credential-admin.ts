// Credentials of servers, as administrators and users store them. Values go in and never come out.
import type { Caller } from "../../../contract/call.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import type { ServerAccess } from "./access.ts";
import { SERVERS_SUBJECT, type ServerAdminPowers } from "./powers.ts";
import type { ServerAdmin } from "./server-admin.ts";

type CredentialAdmin = Pick<ServerAdmin, "credentials" | "putCredential" | "removeCredential">;

interface CredentialAdminPowers extends Pick<
  ServerAdminPowers,
  "credentials" | "follower" | "note"
> {
  readonly access: ServerAccess;
}

export function createCredentialAdmin(p: CredentialAdminPowers): CredentialAdmin {
  const serverFor = (actor: Caller, name: string, isOwn: boolean): Promise<ServerRow> =>
    isOwn ? p.access.takesOwnCredential(actor, name) : p.access.own(actor, name);

  const changed = async (
    actor: Caller,
    row: ServerRow,
    given: { name: string; own: boolean },
    how: string,
  ): Promise<void> => {
    await p.note("upstream.credential_changed", actor, {
      server: row.name,
      credential: given.name,
      whose: given.own ? actor.userId : "everybody",
      how,
    });
    await p.follower.changed(SERVERS_SUBJECT);
  };

  return {
    async credentials(actor, name) {
      const row = await p.access.own(actor, name);
      return {
        shared: await p.credentials.list(row, ""),
        own: await p.credentials.list(row, actor.userId),
      };
    },
    async putCredential(actor, name, given) {
      const row = await serverFor(actor, name, given.own);
      await p.credentials.put(row, given.own ? actor.userId : "", given.name, given.value);
      await changed(actor, row, given, "stored");
    },
    async removeCredential(actor, name, given) {
      const row = await serverFor(actor, name, given.own);
      const removed = await p.credentials.remove(row, given.own ? actor.userId : "", given.name);
      if (removed) await changed(actor, row, given, "removed");
      return removed;
    },
  };
}
