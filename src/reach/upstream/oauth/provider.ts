// Our OAuth client in the form that the SDK asks for.
import type {
  AddClientAuthentication,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { OAuthSettings } from "../../../storage/store/store.ts";
import type { SecretOwner } from "../credentials/vault.ts";
import { assertUsable, refused } from "./endpoints.ts";
import type { GrantStore } from "./grant-store.ts";

/** Settings with their references filled in. */
export interface ClientIdentity extends OAuthSettings {
  /** Where the authorization server sends people back to; undefined: nobody is sent. */
  readonly redirectUrl: string | undefined;
  /** Where it can read who we are; null: nowhere that it could reach. */
  readonly documentUrl: string | null;
  /** Signs instead of a secret. */
  readonly signed: AddClientAuthentication | null;
}

/** What differs between serving calls, beginning a login and ending one. */
export interface ProviderRole {
  /** As whom the grant, or the code, was asked for; absent: as who we are now. */
  client?(): StoredOAuthClientInformation | undefined;
  /** What a login will ask for, where that is known. */
  readonly scope?: string | undefined;
  /** For the next request. */
  tokens(): StoredOAuthTokens | undefined | Promise<StoredOAuthTokens | undefined>;
  /** The newest tokens of this issuer; the SDK may renew them next. */
  renewable(issuer: string): Promise<StoredOAuthTokens | undefined>;
  save(tokens: StoredOAuthTokens, issuer: string, client: Client): Promise<void>;
  lost(): Promise<void>;
  discovered(found: OAuthDiscoveryState): void;
  readonly discovery?: OAuthDiscoveryState | undefined;
  state?(): string;
  send(to: URL, verifier: string, client: Client): Promise<void>;
  readonly verifier?: string | undefined;
}

type Client = StoredOAuthClientInformation | undefined;

export const clientMetadata = ({
  redirectUrl,
  scope,
}: Pick<ClientIdentity, "redirectUrl" | "scope">): OAuthClientMetadata => ({
  client_name: "Ostiary",
  redirect_uris: redirectUrl === undefined ? [] : [redirectUrl],
  grant_types:
    redirectUrl === undefined ? ["client_credentials"] : ["authorization_code", "refresh_token"],
  response_types: redirectUrl === undefined ? [] : ["code"],
  ...(scope === undefined ? {} : { scope }),
});

export function createProvider(
  owner: SecretOwner,
  me: ClientIdentity,
  grants: GrantStore,
  part: ProviderRole,
): OAuthClientProvider {
  const { server } = owner;
  let verifier = "";
  let latest = part.discovery;
  let client: Client;

  const clientAt = async (issuer: string): Promise<Client> => {
    if (me.clientId === undefined) {
      const before = part.client?.();
      return before?.issuer === issuer
        ? before
        : ((await grants.registration(server, issuer, me.redirectUrl ?? "", part.scope)) ??
            undefined);
    }
    // Our own id and secret are for one authorization server, whatever the upstream server says.
    const bound = me.issuer ?? (await grants.bound(server));
    if (bound !== null && bound !== issuer)
      throw refused(
        `the server names the authorization server ${issuer}, our client id belongs to ${bound}`,
      );
    if (bound === null) await grants.bind(server, issuer);
    return {
      client_id: me.clientId,
      issuer,
      ...(me.clientSecret === undefined ? {} : { client_secret: me.clientSecret }),
    };
  };

  return {
    redirectUrl: me.redirectUrl,
    clientMetadata: clientMetadata(me),
    ...(me.documentUrl === null ? {} : { clientMetadataUrl: me.documentUrl }),
    ...(me.signed === null ? {} : { addClientAuthentication: me.signed }),
    ...(part.state ? { state: part.state } : {}),
    async clientInformation(ctx) {
      return (client = await clientAt(ctx?.issuer ?? ""));
    },
    async saveClientInformation(made, ctx) {
      client = made;
      if (me.clientId === undefined)
        await grants.putRegistration(server, ctx?.issuer ?? made.issuer ?? "", {
          client: made,
          redirectUrl: me.redirectUrl ?? "",
        });
    },
    tokens: (ctx) => (ctx === undefined ? part.tokens() : part.renewable(ctx.issuer)),
    async saveTokens(tokens, ctx) {
      if (tokens.token_type.toLowerCase() !== "bearer")
        throw refused(`the token is of the type ${tokens.token_type}; expected Bearer`);
      await part.save(tokens, ctx?.issuer ?? tokens.issuer ?? "", client);
    },
    saveCodeVerifier: (made) => void (verifier = made),
    codeVerifier: () => part.verifier ?? verifier,
    redirectToAuthorization: (to) => part.send(to, verifier, client),
    async invalidateCredentials(what) {
      if (what === "tokens" || what === "all") await part.lost();
      if (what !== "client" && what !== "all") return;
      const issuer = latest?.authorizationServerMetadata?.issuer;
      if (issuer !== undefined) await grants.removeRegistration(server, issuer);
    },
    saveDiscoveryState(found) {
      assertUsable(found, me.redirectUrl !== undefined);
      latest = found;
      part.discovered(found);
    },
    discoveryState: () => part.discovery,
    ...(me.redirectUrl === undefined ? { prepareTokenRequest: asOurselves } : {}),
  };
}

function asOurselves(scope?: string): URLSearchParams {
  return new URLSearchParams({ grant_type: "client_credentials", ...(scope ? { scope } : {}) });
}
