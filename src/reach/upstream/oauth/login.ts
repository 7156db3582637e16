// A person logs in at a server's authorization server: sent there with a one-time state, and back with a code. The
// state is bound to server and user, lives ten minutes and is used once; the code goes nowhere before the issuer is
// known to be right.
import type { OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { createSealed, sealingKey } from "../../../util/secrets/sealed.ts";
import type { SecretOwner } from "../credentials/vault.ts";
import { assertWebAddress, refused, urlOf } from "./endpoints.ts";
import { authorize, overGuard, type FlowPowers } from "./flow.ts";
import type { LoginAttempt, GrantStore } from "./grant-store.ts";
import { createProvider, type ClientIdentity, type ProviderRole } from "./provider.ts";

interface LoginPowers extends FlowPowers {
  readonly grants: GrantStore;
  readonly serverSecret: string;
  readonly ids: { hex(bytes: number): string };
  readonly now: () => number;
  readonly loginMs: number;
}

/** What the server's refusal says about the login it needs. */
export interface Challenge {
  readonly scope: string | null;
  readonly discovery: OAuthDiscoveryState | null;
  readonly resourceMetadataUrl?: URL | undefined;
}

/** A login as its state names it. */
interface Begun {
  readonly server: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly id: string;
}

interface Logins {
  /** Where the person is to be sent. */
  begin(
    owner: FullOwner,
    me: ClientIdentity,
    startedBy: string,
    challenge: Challenge,
  ): Promise<URL>;
  /** Throws when the state is none of ours. */
  begun(state: string): Begun;
  attempt(owner: SecretOwner, id: string): Promise<LoginAttempt>;
  /** Uses the state up, whatever comes of it. */
  end(
    owner: FullOwner,
    me: ClientIdentity,
    id: string,
    answer: URLSearchParams,
  ): Promise<{ issuer: string }>;
}

export type FullOwner = SecretOwner & { readonly server: ServerRow };

const PURPOSE = "ostiary upstream: login state, v1";
const STATE = "state";
const ID_BYTES = 16;

export function createLogins(p: LoginPowers): Logins {
  const { grants, now } = p;
  const sealed = createSealed(sealingKey(p.serverSecret, PURPOSE));

  return {
    async begin(owner, me, startedBy, challenge) {
      const { server, userId } = owner;
      const id = p.ids.hex(ID_BYTES);
      const begun: Begun = { server: server.name, tenantId: server.tenantId, userId, id };
      let discovery = challenge.discovery;
      let target: URL | null = null;
      const scope = me.scope ?? challenge.scope ?? undefined;
      const provider = createProvider(owner, me, grants, {
        ...nobody,
        ...(challenge.discovery === null ? {} : { discovery: challenge.discovery }),
        discovered: (state) => void (discovery = state),
        state: () => sealed.close(STATE, JSON.stringify(begun)),
        scope,
        async send(to, verifier, client) {
          assertWebAddress(to.href, "authorization_endpoint");
          if (discovery === null) throw refused("the authorization server could not be discovered");
          await grants.putAttempt(owner, id, {
            startedBy,
            verifier,
            discovery,
            client,
            redirectUrl: me.redirectUrl ?? "",
            expiresAt: now() + p.loginMs,
          });
          target = to;
        },
      });
      await authorize(
        provider,
        {
          serverUrl: urlOf(server),
          forceReauthorization: true,
          ...(scope === undefined ? {} : { scope }),
          ...(challenge.resourceMetadataUrl
            ? { resourceMetadataUrl: challenge.resourceMetadataUrl }
            : {}),
        },
        p,
      );
      if (target === null) throw refused("the authorization server asks for no login");
      return target;
    },
    begun(state) {
      try {
        return JSON.parse(sealed.open(STATE, state)) as Begun;
      } catch (cause) {
        throw unknownLogin(cause);
      }
    },
    async attempt(owner, id) {
      const attempt = await grants.attempt(owner, id);
      if (attempt === null || attempt.expiresAt <= now()) throw unknownLogin();
      return attempt;
    },
    async end(owner, me, id, answer) {
      const attempt = await this.attempt(owner, id);
      if (!(await grants.takeAttempt(owner, id))) throw unknownLogin();
      const code = answer.get("code");
      const iss = answer.get("iss") ?? undefined;
      const serverUrl = urlOf(owner.server);
      if (code === null || code === "")
        return overGuard(serverUrl, p, () => explain(answer, attempt));
      let issuer = "";
      const provider = createProvider(owner, { ...me, redirectUrl: attempt.redirectUrl }, grants, {
        ...nobody,
        discovery: attempt.discovery,
        verifier: attempt.verifier,
        client: () => attempt.client,
        async save(tokens, by, client) {
          issuer = by;
          const expiresAt =
            tokens.expires_in === undefined ? null : now() + tokens.expires_in * 1000;
          await grants.putGrant(owner, { tokens, issuer, client, expiresAt, loggedInAt: now() });
        },
        send: () => Promise.reject(refused("the code was not accepted; begin anew")),
      });
      await authorize(
        provider,
        { serverUrl, authorizationCode: code, ...(iss === undefined ? {} : { iss }) },
        p,
      );
      return { issuer };
    },
  };
}

/** A login does not touch the existing grant; it stays until there is a new one. */
const nobody: Omit<ProviderRole, "send"> = {
  tokens: () => undefined,
  renewable: () => Promise.resolve(undefined),
  save: () => Promise.reject(refused("a token came that nobody asked for")),
  lost: () => Promise.resolve(),
  discovered: () => undefined,
};

/** The words of a refusal count only when they come from the right place. */
async function explain(answer: URLSearchParams, { discovery }: LoginAttempt): Promise<never> {
  const { validateAuthorizationResponseIssuer } = await import("@modelcontextprotocol/client");
  const metadata = discovery.authorizationServerMetadata;
  const iss = answer.get("iss") ?? undefined;
  const issParameterSupported = metadata?.authorization_response_iss_parameter_supported === true;
  validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata?.issuer,
    issParameterSupported,
  });
  const error = answer.get("error") ?? "there is no code in the answer";
  throw new Error(`${error} ${answer.get("error_description") ?? ""}`.trim());
}

const unknownLogin = (cause?: unknown): AppError =>
  new AppError(
    "BAD_REQUEST",
    "invalid_input",
    "This login is not known: it was used before, has expired, or belongs to another user",
    { remedy: "begin anew: ostiary servers login", ...(cause === undefined ? {} : { cause }) },
  );
