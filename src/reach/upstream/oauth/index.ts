// Authorization at upstream servers: sessions for calls, logins for people, and our own client metadata.
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { AppError } from "../../../contract/errors.ts";
import type { OAuthSettings, ServerRow } from "../../../storage/store/store.ts";
import { VERSION } from "../../../util/version.ts";
import { fillIn } from "../credentials/references.ts";
import type { SecretOwner, Vault } from "../credentials/vault.ts";
import { urlOf } from "./endpoints.ts";
import { authorize, overGuard, type FlowPowers } from "./flow.ts";
import { createGrantStore } from "./grant-store.ts";
import { createLogins, type Challenge, type FullOwner } from "./login.ts";
import { clientMetadata, type ClientIdentity } from "./provider.ts";
import { revoke } from "./revoke.ts";
import { loginNeeded, openSession, type OAuthSession } from "./session.ts";

export interface OAuthPowers extends FlowPowers {
  readonly vault: Vault;
  readonly serverSecret: string;
  readonly ids: { hex(bytes: number): string };
  readonly now: () => number;
  /** Where people are sent back to. */
  readonly redirectUrl: () => string;
  /** Where authorization servers can read who we are; null: they cannot reach us. */
  readonly documentUrl: () => string | null;
}

interface OAuth {
  /** Throws UNAUTHORIZED / upstream_login where a person must log in first. */
  session(owner: FullOwner, onLost: () => void): Promise<OAuthSession>;
  login(owner: FullOwner, startedBy: string): Promise<URL>;
  /** Whose login a state belongs to, and who began it; throws for any other text. */
  begun(state: string, serverOf: (name: string) => Promise<ServerRow | null>): Promise<BegunLogin>;
  finish(login: BegunLogin, answer: URLSearchParams): Promise<{ issuer: string }>;
  /** Null: there was no login. */
  logout(owner: FullOwner): Promise<LoggedOut | null>;
  /** When the login was made that is used now; null: there is none. */
  since(owner: FullOwner): Promise<number | null>;
}

export interface LoggedOut {
  /** The authorization server has revoked the tokens. */
  readonly revoked: boolean;
}

export interface BegunLogin {
  readonly owner: FullOwner;
  readonly id: string;
  readonly startedBy: string;
  /** The authorization server that asked the person. */
  readonly issuer: string;
}

const LOGIN_MS = 600_000;
/** How long a server's challenge is remembered; then it is asked again. */
const CHALLENGE_MS = 600_000;
const MAX_CHALLENGES = 1_000;
/** The first request of a connection, without a credential: the server answers with a challenge. */
const PROBE_VERSION = "2026-07-28";
const PROBE_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": PROBE_VERSION,
  "mcp-method": "server/discover",
};
const PROBE = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "server/discover",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": PROBE_VERSION,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "ostiary", version: VERSION },
    },
  },
});

export function openOAuth(p: OAuthPowers): OAuth {
  const grants = createGrantStore(p.vault, p.now, LOGIN_MS);
  const logins = createLogins({ ...p, grants, loginMs: LOGIN_MS });
  const challenges = new Map<string, Challenge & { readonly at: number }>();
  const keyOf = ({ server, userId }: SecretOwner): string => JSON.stringify([server.name, userId]);

  const remember = (
    owner: SecretOwner,
    scope: string | null,
    discovery: OAuthDiscoveryState | null,
  ): void => {
    challenges.delete(keyOf(owner));
    challenges.set(keyOf(owner), { scope, discovery, at: p.now() });
    if (challenges.size > MAX_CHALLENGES) challenges.delete(challenges.keys().next().value ?? "");
  };

  const identityOf = async (server: ServerRow): Promise<ClientIdentity> => {
    const given = settingsOf(server);
    const { clientSecret, privateKey } = given;
    const secrets = {
      ...(clientSecret === undefined ? {} : { clientSecret }),
      ...(privateKey === undefined ? {} : { privateKey }),
    };
    const { texts } = await fillIn(secrets, { server, userId: "" }, p.vault);
    const people = given.grant !== "client_credentials";
    return {
      ...given,
      ...texts,
      redirectUrl: people ? p.redirectUrl() : undefined,
      documentUrl: people && given.clientId === undefined ? p.documentUrl() : null,
      signed: await signer(given, texts["privateKey"]),
    };
  };

  /** A request without a token is refused, and the refusal says what the server wants. */
  const challengeOf = async (owner: FullOwner): Promise<Challenge> => {
    const known = challenges.get(keyOf(owner));
    if (known && known.at > p.now() - CHALLENGE_MS) return known;
    const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
    const url = urlOf(owner.server);
    return overGuard(url, p, async (fetch) => {
      const response = await fetch(url, { method: "POST", headers: PROBE_HEADERS, body: PROBE });
      await response.body?.cancel();
      const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
      return { scope: scope ?? null, discovery: null, resourceMetadataUrl };
    });
  };

  return {
    async session(owner, onLost) {
      const me = await identityOf(owner.server);
      const grant = me.redirectUrl === undefined ? null : await grants.grant(owner);
      if (grant === null && me.redirectUrl !== undefined) throw loginNeeded(owner, null);
      return openSession(owner, me, grant, {
        grants,
        now: p.now,
        authorize: async (provider: OAuthClientProvider) =>
          void (await authorize(provider, { serverUrl: urlOf(owner.server) }, p)),
        wanted: (scope, found) => remember(owner, scope, found),
        onLost,
      });
    },
    async login(owner, startedBy) {
      const me = await identityOf(owner.server);
      if (me.redirectUrl === undefined)
        throw new AppError(
          "CONFLICT",
          "not_running",
          `Server ${owner.server.name} is reached as ourselves (client_credentials): nobody logs in`,
          { remedy: "store its client secret instead" },
        );
      if (!URL.canParse(me.redirectUrl))
        throw new AppError(
          "UNAVAILABLE",
          "provider_not_configured",
          "Nobody can be sent back here: this server has no address",
          { remedy: "run ostiary serve" },
        );
      return logins.begin(owner, me, startedBy, await challengeOf(owner));
    },
    async begun(state, serverOf) {
      const { server: name, tenantId, userId, id } = logins.begun(state);
      const server = await serverOf(name);
      if (server?.tenantId !== tenantId || settingsOf(server).grant === "client_credentials")
        throw gone(name);
      const owner = { server, userId };
      const { startedBy, discovery } = await logins.attempt(owner, id);
      return {
        owner,
        id,
        startedBy,
        issuer: discovery.authorizationServerMetadata?.issuer ?? discovery.authorizationServerUrl,
      };
    },
    async finish({ owner, id }, answer) {
      const ended = await logins.end(owner, await identityOf(owner.server), id, answer);
      challenges.delete(keyOf(owner));
      return ended;
    },
    async logout(owner) {
      // One that cannot be read any more is forgotten like any other.
      const grant = await grants.grant(owner).catch(() => null);
      if (!(await grants.removeGrant(owner))) return null;
      // It is forgotten here whatever the authorization server says to it.
      const revoked =
        grant === null
          ? false
          : await identityOf(owner.server)
              .then((me) => revoke(urlOf(owner.server), grant, me, p))
              .catch(() => false);
      return { revoked };
    },
    async since(owner) {
      settingsOf(owner.server);
      return (await grants.grant(owner))?.loggedInAt ?? null;
    },
  };
}

/** Our addresses for authorization servers; they can read our document only at a public address with TLS. */
export const addressesAt = (
  baseUrl: () => string,
): Pick<OAuthPowers, "redirectUrl" | "documentUrl"> => ({
  redirectUrl: () => `${baseUrl()}/oauth/callback`,
  documentUrl() {
    // Servers are reached before the listener is up, and there may never be one.
    const { protocol, hostname = "" } = URL.parse(baseUrl()) ?? {};
    const isPublic = protocol === "https:" && hostname.includes(".") && !/^[\d.]+$/.test(hostname);
    return isPublic ? `${baseUrl()}/oauth/client.json` : null;
  },
});

/** The document behind a client id that is an address (CIMD). */
export const clientDocument = (documentUrl: string, redirectUrl: string): object => ({
  client_id: documentUrl,
  client_uri: new URL("/", documentUrl).href,
  ...clientMetadata({ redirectUrl, scope: undefined }),
  token_endpoint_auth_method: "none",
});

async function signer(
  { clientId, algorithm }: OAuthSettings,
  privateKey: string | undefined,
): Promise<ClientIdentity["signed"]> {
  if (privateKey === undefined || clientId === undefined) return null;
  const { createPrivateKeyJwtAuth } = await import("@modelcontextprotocol/client");
  return createPrivateKeyJwtAuth({
    issuer: clientId,
    subject: clientId,
    privateKey,
    alg: algorithm ?? "ES256",
  });
}

const settingsOf = ({ name, transport }: ServerRow): OAuthSettings => {
  if ((transport.kind === "http" || transport.kind === "sse") && transport.auth === "oauth")
    return transport.oauth ?? {};
  throw gone(name);
};

const gone = (name: string): AppError =>
  new AppError("CONFLICT", "not_running", `Server ${name} asks for no login`, {
    remedy: "ostiary servers list shows which do",
  });
