// Logins at upstream servers: who may begin one, and who may finish it.
import type { Caller, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { Action, ServerRow, UpstreamStore } from "../../../storage/store/store.ts";
import type { ServerLogins } from "../credentials/credentials.ts";
import { clientDocument, type LoggedOut } from "../oauth/index.ts";

/** What became of an answer that a browser brought. */
type LoginResult =
  | { readonly kind: "done"; readonly server: string; readonly issuer: string }
  /** Nobody is signed in there: the person has to say that it is theirs. */
  | {
      readonly kind: "confirm";
      readonly server: string;
      readonly userId: string;
      readonly issuer: string;
      readonly everybody: boolean;
    };

export interface LoginAdmin {
  /** A shared login is begun by administrators, an own one by users who see the server's tools. */
  begin(actor: Caller, name: string, sees: () => Promise<boolean>): Promise<URL>;
  /** `by`: who is signed in where the answer came from; `confirmed`: nobody is, and the person has agreed. */
  answer(answer: URLSearchParams, by: Caller | null, confirmed: boolean): Promise<LoginResult>;
  /** When the login was made that is used for the actor; null: there is none. */
  since(actor: Caller, name: string, sees: () => Promise<boolean>): Promise<number | null>;
  /** Null: there was no login. */
  logout(actor: Caller, name: string): Promise<LoggedOut | null>;
  /** Who we are, for authorization servers; null: they cannot reach us. */
  document(): object | null;
}

interface LoginAdminPowers {
  readonly servers: Pick<UpstreamStore["servers"], "get">;
  readonly logins: ServerLogins;
  readonly addresses: { redirectUrl(): string; documentUrl(): string | null };
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  /** It may be reached now, and offer something. */
  readonly checkSoon: (server: string) => void;
}

export function createLoginAdmin(p: LoginAdminPowers): LoginAdmin {
  const { servers, logins } = p;
  const isAdmin = (actor: Caller, row: ServerRow): boolean =>
    actor.role === "admin" && row.tenantId === actor.tenantId;

  async function rowFor(
    actor: Caller,
    name: string,
    sees: () => Promise<boolean>,
  ): Promise<ServerRow> {
    const row = await servers.get(name);
    // For callers who see none of its tools the server does not exist.
    if (!row || (!isAdmin(actor, row) && !(row.tenantId === actor.tenantId && (await sees()))))
      throw unknown(name);
    if (row.settings.credentials === "shared" && !isAdmin(actor, row))
      throw new AppError(
        "FORBIDDEN",
        "admin_only",
        `server ${name} has one login for all users, and an administrator has to make it`,
        { remedy: "ask an administrator" },
      );
    return row;
  }

  const changed = (
    server: ServerRow,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ): Promise<void> =>
    p.note("upstream.credential_changed", who, {
      server: server.name,
      owner: server.settings.credentials === "user" ? who.userId : "",
      credential: "oauth",
      ...body,
    });

  return {
    begin: async (actor, name, sees) => logins.begin(await rowFor(actor, name, sees), actor.userId),
    async answer(answer, by, confirmed) {
      const login = await logins.begun(answer.get("state") ?? "", (name) => servers.get(name));
      const {
        owner: { server },
        startedBy,
        issuer,
      } = login;
      if (by !== null && (by.userId !== startedBy || by.tenantId !== server.tenantId))
        throw new AppError("FORBIDDEN", "permission_missing", "Another user began this login", {
          remedy: `begin your own: ostiary servers login ${server.name}`,
        });
      if (by === null && !confirmed)
        return {
          kind: "confirm",
          server: server.name,
          userId: startedBy,
          issuer,
          everybody: server.settings.credentials === "shared",
        };
      const ended = await logins.finish(login, answer);
      await changed(
        server,
        { tenantId: server.tenantId, userId: startedBy },
        { change: "login", issuer: ended.issuer },
      );
      p.checkSoon(server.name);
      return { kind: "done", server: server.name, issuer: ended.issuer };
    },
    since: async (actor, name, sees) => logins.since(await rowFor(actor, name, sees), actor.userId),
    async logout(actor, name) {
      // One's own can always be given up.
      const row = await rowFor(actor, name, () => Promise.resolve(true));
      const out = await logins.logout(row, actor.userId);
      if (out) await changed(row, actor, { change: "logout", ...out });
      return out;
    },
    document() {
      const address = p.addresses.documentUrl();
      return address === null ? null : clientDocument(address, p.addresses.redirectUrl());
    },
  };
}

const unknown = (name: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `There is no server ${JSON.stringify(name.slice(0, 64))}`, {
    remedy: "ostiary servers list",
  });
