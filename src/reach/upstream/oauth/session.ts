// A grant while calls use it: renewed shortly before it expires, by one call at a time. When it is lost, a person
// must log in.
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { AppError } from "../../../contract/errors.ts";
import type { SecretOwner } from "../credentials/vault.ts";
import type { OAuthGrant, GrantStore } from "./grant-store.ts";
import { createProvider, type ClientIdentity } from "./provider.ts";

export interface OAuthSession {
  readonly provider: OAuthClientProvider;
  /** Of the login; another one after every login. */
  readonly version: string;
  /** For the next request; at once while it is good. */
  token(): string | Promise<string>;
}

interface SessionPowers {
  readonly grants: GrantStore;
  readonly now: () => number;
  /** Runs the SDK's flow for this server. */
  readonly authorize: (provider: OAuthClientProvider) => Promise<void>;
  /** A login would ask for this much, and found this. */
  readonly wanted: (scope: string | null, found: OAuthDiscoveryState | null) => void;
  readonly onLost: () => void;
}

/** Renewed so long before the end. */
const EARLY_MS = 60_000;
/** A renewal that takes longer no longer blocks the next one. */
const TURN_MS = 30_000;

export function openSession(
  owner: SecretOwner,
  me: ClientIdentity,
  grant: OAuthGrant | null,
  p: SessionPowers,
): OAuthSession {
  const { grants, now } = p;
  const people = me.redirectUrl !== undefined;
  let held = grant;
  let renewing: Promise<OAuthGrant> | null = null;
  let found: OAuthDiscoveryState | null = null;
  const turn = createTurn();

  const provider = createProvider(owner, me, grants, {
    client: () => held?.client,
    tokens: () => current(tokensOf),
    async renewable(issuer) {
      await turn.take();
      // Another instance may have renewed it meanwhile: a refresh token counts once.
      held = (await grants.grant(owner)) ?? held;
      const mine = held?.issuer === issuer ? held.tokens : undefined;
      if (mine?.refresh_token === undefined) turn.give();
      return mine;
    },
    async save(tokens, issuer, client) {
      const expiresAt = tokens.expires_in === undefined ? null : now() + tokens.expires_in * 1000;
      held = { tokens, issuer, client, expiresAt, loggedInAt: held?.loggedInAt ?? 0 };
      try {
        if (people) await grants.putGrant(owner, held);
      } finally {
        turn.give();
      }
    },
    async lost() {
      const tried = held?.tokens.refresh_token;
      const current = people ? await grants.grant(owner) : null;
      if (current !== null && current.tokens.refresh_token === tried)
        await grants.removeGrant(owner);
      held = current?.tokens.refresh_token === tried ? null : current;
      turn.give();
      if (held === null && people) p.onLost();
    },
    discovered: (state) => void (found = state),
    send(to) {
      turn.give();
      const scope = to.searchParams.get("scope");
      const same = held !== null && found?.authorizationServerMetadata?.issuer === held.issuer;
      if (same && held?.tokens.refresh_token !== undefined && !isWider(scope, held.tokens.scope))
        return Promise.reject(notRenewed(owner));
      p.wanted(scope, found);
      p.onLost();
      return Promise.reject(loginNeeded(owner, held === null ? null : scope));
    },
  });

  const isGood = (grant: OAuthGrant): boolean =>
    grant.expiresAt === null || grant.expiresAt - EARLY_MS > now();
  const isOver = (grant: OAuthGrant): boolean =>
    grant.expiresAt !== null && grant.expiresAt <= now();

  const renew = async (): Promise<OAuthGrant> => {
    if (people) held = await grants.grant(owner);
    if (held === null && people) throw loginNeeded(owner, null);
    if (held !== null && isGood(held)) return held;
    // Without a refresh token it is used to its last second.
    if (held !== null && held.tokens.refresh_token === undefined && people && !isOver(held))
      return held;
    try {
      await p.authorize(provider);
    } catch (cause) {
      if (held === null || isOver(held)) throw cause;
    }
    if (held === null) throw loginNeeded(owner, null);
    return held;
  };

  const current = <T>(part: (grant: OAuthGrant) => T): T | Promise<T> => {
    if (held !== null && isGood(held)) return part(held);
    renewing ??= renew().finally(() => (renewing = null));
    return renewing.then(part);
  };

  return { provider, version: String(grant?.loggedInAt ?? 0), token: () => current(tokenOf) };
}

const tokensOf = ({ tokens }: OAuthGrant): StoredOAuthTokens => tokens;
const tokenOf = ({ tokens }: OAuthGrant): string => tokens.access_token;

/** Is more wanted than was given? Of a grant that does not say, the upstream server knows better. */
const isWider = (wanted: string | null, given: string | undefined): boolean =>
  given === undefined || (wanted ?? "").split(" ").some((one) => !given.split(" ").includes(one));

const notRenewed = ({ server }: SecretOwner): AppError =>
  new AppError(
    "UNAVAILABLE",
    "upstream_unavailable",
    `The authorization server of ${server.name} did not renew the login at the moment`,
    { remedy: "try again" },
  );

export function loginNeeded({ server, userId }: SecretOwner, scope: string | null): AppError {
  const who = userId === "" ? "an administrator has to log in for all users" : "you have to log in";
  const why = scope === null || scope === "" ? "" : ` It asks for more rights now: ${scope}.`;
  return new AppError(
    "UNAUTHORIZED",
    "upstream_login",
    `Server ${server.name} wants a login: ${who}.${why}`,
    { remedy: `ostiary servers login ${server.name}` },
  );
}

interface Turn {
  take(): Promise<void>;
  give(): void;
}

/** One after the other; who does not give it back loses it. */
function createTurn(): Turn {
  let last: Promise<void> = Promise.resolve();
  let release: () => void = () => undefined;
  return {
    async take() {
      const before = last;
      let mine: () => void = () => undefined;
      last = new Promise((resolve) => (mine = resolve));
      await before;
      const timer = setTimeout(mine, TURN_MS);
      timer.unref();
      release = () => {
        clearTimeout(timer);
        mine();
      };
    },
    give: () => release(),
  };
}
