// OAuth data as rows of the vault: grants per owner and issuer, our registrations per server and issuer, and logins
// under way.
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { SecretOwner, SecretsIn, Vault } from "../credentials/vault.ts";

export interface OAuthGrant {
  readonly tokens: StoredOAuthTokens;
  readonly issuer: string;
  /** As whom it was asked for. */
  readonly client: StoredOAuthClientInformation | undefined;
  /** Epoch ms; null: the authorization server does not say. */
  readonly expiresAt: number | null;
  readonly loggedInAt: number;
}

interface Registration {
  readonly client: StoredOAuthClientInformation;
  /** It counts for this one only. */
  readonly redirectUrl: string;
}

export interface LoginAttempt {
  readonly startedBy: string;
  readonly verifier: string;
  readonly discovery: OAuthDiscoveryState;
  readonly client: StoredOAuthClientInformation | undefined;
  readonly redirectUrl: string;
  readonly expiresAt: number;
}

export interface GrantStore {
  grant(owner: SecretOwner): Promise<OAuthGrant | null>;
  /** The only one from now on. */
  putGrant(owner: SecretOwner, grant: OAuthGrant): Promise<void>;
  removeGrant(owner: SecretOwner): Promise<boolean>;
  /** One that may send people back there, and may ask for this. */
  registration(
    server: SecretOwner["server"],
    issuer: string,
    redirectUrl: string,
    scope: string | undefined,
  ): Promise<StoredOAuthClientInformation | null>;
  putRegistration(
    server: SecretOwner["server"],
    issuer: string,
    registration: Registration,
  ): Promise<void>;
  removeRegistration(server: SecretOwner["server"], issuer: string): Promise<void>;
  /** The authorization server that our own client id was first shown to. */
  bound(server: SecretOwner["server"]): Promise<string | null>;
  bind(server: SecretOwner["server"], issuer: string): Promise<void>;
  attempt(owner: SecretOwner, id: string): Promise<LoginAttempt | null>;
  /** Older ones of this owner that have run out are gone afterwards. */
  putAttempt(owner: SecretOwner, id: string, attempt: LoginAttempt): Promise<void>;
  /** True for one of those who ask. */
  takeAttempt(owner: SecretOwner, id: string): Promise<boolean>;
}

const GRANT = "oauth ";
const CLIENT = "oauth-client ";
const LOGIN = "oauth-login ";
const BOUND = "oauth-issuer";
const MAX_ISSUER = 2_000;

export function createGrantStore(vault: Vault, now: () => number, loginMs: number): GrantStore {
  const shared = (server: SecretOwner["server"]): SecretOwner => ({ server, userId: "" });
  const rowsOf = async (owner: SecretOwner, prefix: string) =>
    (await vault.list(owner)).filter(({ name }) => name.startsWith(prefix));
  const read = async <T>(
    owner: SecretOwner,
    name: string,
    secretsIn: SecretsIn,
  ): Promise<T | null> => {
    const row = await vault.get(owner, name, secretsIn);
    return row === null ? null : (JSON.parse(row.value) as T);
  };

  return {
    async grant(owner) {
      const rows = (await rowsOf(owner, GRANT)).sort((a, b) => b.updatedAt - a.updatedAt);
      const newest = rows[0];
      return newest === undefined ? null : read<OAuthGrant>(owner, newest.name, tokensIn);
    },
    async putGrant(owner, grant) {
      const name = named(GRANT, grant.issuer);
      await vault.put(owner, name, JSON.stringify(grant), tokensIn);
      for (const row of await rowsOf(owner, GRANT))
        if (row.name !== name) await vault.remove(owner, row.name);
    },
    async removeGrant(owner) {
      const rows = await rowsOf(owner, GRANT);
      for (const { name } of rows) await vault.remove(owner, name);
      return rows.length > 0;
    },
    async registration(server, issuer, redirectUrl, scope) {
      const found = await read<Registration>(
        shared(server),
        named(CLIENT, issuer),
        clientSecretsIn,
      );
      if (found?.redirectUrl !== redirectUrl) return null;
      return covers((found.client as { scope?: string }).scope, scope) ? found.client : null;
    },
    putRegistration: (server, issuer, registration) =>
      vault.put(
        shared(server),
        named(CLIENT, issuer),
        JSON.stringify(registration),
        clientSecretsIn,
      ),
    async removeRegistration(server, issuer) {
      await vault.remove(shared(server), named(CLIENT, issuer));
    },
    bound: async (server) => (await vault.get(shared(server), BOUND, nothing))?.value ?? null,
    bind: (server, issuer) => vault.put(shared(server), BOUND, issuer, nothing),
    attempt: (owner, id) => read<LoginAttempt>(owner, LOGIN + id, nothing),
    async putAttempt(owner, id, attempt) {
      for (const row of await rowsOf(owner, LOGIN))
        if (row.updatedAt < now() - loginMs) await vault.remove(owner, row.name);
      await vault.put(owner, LOGIN + id, JSON.stringify(attempt), nothing);
    },
    takeAttempt: (owner, id) => vault.remove(owner, LOGIN + id),
  };
}

/** Authorization servers hold a client to what it registered for. */
const covers = (registered: string | undefined, wanted: string | undefined): boolean =>
  registered === undefined ||
  (wanted ?? "").split(" ").every((one) => one === "" || registered.split(" ").includes(one));

const named = (prefix: string, issuer: string): string => prefix + issuer.slice(0, MAX_ISSUER);

const tokensIn: SecretsIn = (text) => {
  const { tokens, client } = JSON.parse(text) as OAuthGrant;
  return [tokens.access_token, tokens.refresh_token, tokens.id_token, client?.client_secret].filter(
    (one) => one !== undefined,
  );
};

const clientSecretsIn: SecretsIn = (text) => {
  const client = (JSON.parse(text) as Registration).client as Readonly<Record<string, unknown>>;
  return [client["client_secret"], client["registration_access_token"]].filter(
    (one) => typeof one === "string",
  );
};

/** A verifier is worth nothing without its code, and both only once. */
const nothing: SecretsIn = () => [];
