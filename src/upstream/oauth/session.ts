// Somebody's grant while calls use it: renewed shortly before it ends, by one at a time; when it is gone a person must log in.
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { AppError } from "../../errors.ts";
import type { Owner } from "../credentials-vault.ts";
import type { Grant, Kept } from "./kept.ts";
import { createProvider, type Identity } from "./provider.ts";

export interface Session {
  readonly provider: OAuthClientProvider;
  /** Of the login; another one after every login. */
  readonly version: string;
  /** At once while it is good. */
  token(): string | Promise<string>;
}

export interface SessionPowers {
  readonly kept: Kept;
  readonly now: () => number;
  /** Runs the SDK's flow for this server. */
  readonly authorize: (provider: OAuthClientProvider) => Promise<void>;
  /** A login would ask for this much, and found this. */
  readonly wanted: (scope: string | null, found: OAuthDiscoveryState | null) => void;
  readonly onLost: () => void;
}

/** Renewed so long before the end. */
const EARLY_MS = 60_000;
/** Whoever renews has to be done by then, or the next one tries. */
const TURN_MS = 30_000;

export function openSession(owner: Owner, me: Identity, grant: Grant | null, p: SessionPowers): Session {
  const { kept, now } = p;
  const people = me.redirectUrl !== undefined;
  let held = grant;
  let renewing: Promise<string> | null = null;
  let found: OAuthDiscoveryState | null = null;
  const turn = createTurn();

  const provider = createProvider(owner, me, kept, {
    serving: true,
    tokens: () => held?.tokens,
    async renewable(issuer) {
      await turn.take();
      // Another instance may have renewed it meanwhile: a refresh token counts once.
      held = (await kept.grant(owner)) ?? held;
      const mine = held?.issuer === issuer ? held.tokens : undefined;
      if (mine?.refresh_token === undefined) turn.give();
      return mine;
    },
    async save(tokens, issuer) {
      const expiresAt = tokens.expires_in === undefined ? null : now() + tokens.expires_in * 1000;
      held = { tokens, issuer, expiresAt, loggedInAt: held?.loggedInAt ?? 0 };
      try {
        if (people) await kept.putGrant(owner, held);
      } finally {
        turn.give();
      }
    },
    async lost() {
      const tried = held?.tokens.refresh_token;
      const current = people ? await kept.grant(owner) : null;
      if (current !== null && current.tokens.refresh_token === tried) await kept.removeGrant(owner);
      held = current?.tokens.refresh_token === tried ? null : current;
      turn.give();
      if (held === null && people) p.onLost();
    },
    discovered: (state) => void (found = state),
    send(to) {
      turn.give();
      p.wanted(to.searchParams.get("scope"), found);
      p.onLost();
      return Promise.reject(loginNeeded(owner, held === null ? null : to.searchParams.get("scope")));
    },
  });

  const isGood = (): boolean => held !== null && (held.expiresAt === null || held.expiresAt - EARLY_MS > now());
  const renew = async (): Promise<string> => {
    if (people) held = await kept.grant(owner);
    if (!isGood()) await mend();
    if (held === null) throw loginNeeded(owner, null);
    return held.tokens.access_token;
  };
  /** Without a refresh token it is used to its last second, and the server upstream says when that was. */
  const mend = async (): Promise<void> => {
    if (people && held?.tokens.refresh_token === undefined && held !== null && (held.expiresAt ?? 0) > now()) return;
    await p.authorize(provider);
  };

  return {
    provider,
    version: String(grant?.loggedInAt ?? 0),
    token: () => {
      if (held !== null && isGood()) return held.tokens.access_token;
      renewing ??= renew().finally(() => (renewing = null));
      return renewing;
    },
  };
} // prettier-ignore

export function loginNeeded({ server, userId }: Owner, scope: string | null): AppError {
  const who = userId === "" ? "an administrator has to log in for everybody" : "you have to log in";
  const why = scope === null || scope === "" ? "" : ` It asks for more rights now: ${scope}.`;
  return new AppError("UNAUTHORIZED", "upstream_login", `Server ${server.name} wants a login: ${who}.${why}`, { remedy: `ostiary servers login ${server.name}` }); // prettier-ignore
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
