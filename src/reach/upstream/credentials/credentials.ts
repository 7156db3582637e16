// What servers are reached with. The caller's own credential is out of reach here: all that comes in is a server and
// the id of a user, all that can be read is what was stored for the two, and a Caller carries no credential to begin
// with.
import { createHash } from "node:crypto";
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { fillIn } from "./references.ts";
import { createVault, type Vault, type VaultPowers } from "./vault.ts";
import { openOAuth, type BegunLogin, type LoggedOut, type OAuthPowers } from "../oauth/index.ts";
import type { FullOwner } from "../oauth/login.ts";
import type { OAuthSession } from "../oauth/session.ts";
import type { Credential, ServerCredentials } from "../upstream.ts";

type CredentialsPowers = VaultPowers & Omit<OAuthPowers, "vault">;

export interface CredentialView {
  readonly name: string;
  readonly updatedAt: number;
}

/** `userId` is empty for shared ones. */
export interface OpenedCredentials extends ServerCredentials {
  put(server: ServerRow, userId: string, name: string, value: string): Promise<void>;
  remove(server: ServerRow, userId: string, name: string): Promise<boolean>;
  /** Names and times; values are never shown again. */
  list(server: ServerRow, userId: string): Promise<CredentialView[]>;
  /** Another instance changed something: what is remembered of this server, or of all, is read again. */
  forget(server?: string): void;
  readonly logins: ServerLogins;
}

/** Logins at servers that require one. The server decides whose they are: shared, or the user's own. */
export interface ServerLogins {
  /** Where the browser is to be sent. */
  begin(server: ServerRow, userId: string): Promise<URL>;
  begun(state: string, serverOf: (name: string) => Promise<ServerRow | null>): Promise<BegunLogin>;
  /** With what came back from there; uses the login up. */
  finish(login: BegunLogin, answer: URLSearchParams): Promise<{ readonly issuer: string }>;
  logout(server: ServerRow, userId: string): Promise<LoggedOut | null>;
  /** When the login was made that is used now; null: there is none. */
  since(server: ServerRow, userId: string): Promise<number | null>;
}

interface Remembered {
  readonly server: ServerRow;
  readonly making: Promise<Credential>;
  credential: Credential | null;
}

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const MAX_VALUE = 16_384;
/** Users whose credentials are remembered; the ones not asked for longest go first. */
const MAX_REMEMBERED = 4_096;
/** What a header may not hold (RFC 9110), so that nobody can begin another one. */
const NOT_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

export function openCredentials(powers: CredentialsPowers): OpenedCredentials {
  const vault = createVault(powers);
  const oauth = openOAuth({ ...powers, vault });
  /** A call may ask every millisecond, and the answer changes with a login. */
  const remembered = new Map<string, Remembered>();
  /** The one asked for last need not be moved to the end. */
  let last: Remembered | null = null;
  const remember = (key: string, one: Remembered): void => {
    if (one === last) return;
    remembered.delete(key);
    remembered.set(key, (last = one));
  };

  const forget = (server?: string): void => {
    if (server === undefined) remembered.clear();
    for (const [key, one] of remembered) if (one.server.name === server) remembered.delete(key);
  };

  return {
    of(server, userId) {
      const owner = ownerOf(server, userId);
      const key = keyOf(owner);
      const there = remembered.get(key);
      const one = there?.server === server ? there : made(owner, key);
      remember(key, one);
      if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value ?? "");
      return one.making;
    },
    cached(server, userId) {
      const key = keyOf(ownerOf(server, userId));
      const there = remembered.get(key);
      if (there?.server !== server || there.credential === null) return null;
      remember(key, there);
      return there.credential;
    },
    async put(server, userId, name, value) {
      checkStorable(name, value);
      await vault.put({ server, userId }, name, value);
      forget(server.name);
    },
    async remove(server, userId, name) {
      const removed = await vault.remove({ server, userId }, name);
      forget(server.name);
      return removed;
    },
    async list(server, userId) {
      const rows = await vault.list({ server, userId });
      return rows
        .filter(({ name }) => NAME.test(name))
        .map(({ name, updatedAt }) => ({ name, updatedAt }));
    },
    forget,
    logins: {
      begin: (server, userId) => oauth.login(ownerOf(server, userId), userId),
      begun: oauth.begun,
      async finish(login, answer) {
        const ended = await oauth.finish(login, answer);
        forget(login.owner.server.name);
        return ended;
      },
      since: (server, userId) => oauth.since(ownerOf(server, userId)),
      async logout(server, userId) {
        const out = await oauth.logout(ownerOf(server, userId));
        forget(server.name);
        return out;
      },
    },
  };

  function made(owner: FullOwner, key: string): Remembered {
    const making = credentialOf(owner, vault, () =>
      oauth.session(owner, () => forget(owner.server.name)),
    );
    const one: Remembered = { server: owner.server, making, credential: null };
    making.then(
      (credential) => (one.credential = credential),
      // A failure is not remembered: it may be mended meanwhile.
      () => remembered.get(key) === one && remembered.delete(key),
    );
    return one;
  }
}

/** `openSession` is called only for a server that wants a login. */
async function credentialOf(
  owner: FullOwner,
  vault: Vault,
  openSession: () => Promise<OAuthSession>,
): Promise<Credential> {
  const { transport } = owner.server;
  if (transport.kind === "stdio") {
    const { texts, used } = await fillIn(transport.env, owner, vault);
    return {
      id: idOf(owner, used.map(versionOf)),
      env: () => Promise.resolve(texts),
      headers: () => ({}),
      oauth: null,
    };
  }
  const { texts, used } = await fillIn(transport.headers, owner, vault);
  assertHeaders(texts);
  const session =
    transport.kind !== "api" && transport.auth === "oauth" ? await openSession() : null;
  return {
    id: idOf(owner, [...used.map(versionOf), ...(session ? [session.version] : [])]),
    env: () => Promise.resolve({}),
    headers: session ? withToken(texts, session) : () => texts,
    oauth: session?.provider ?? null,
  };
}

function checkStorable(name: string, value: string): void {
  if (!NAME.test(name))
    throw invalid(
      "/name",
      `${JSON.stringify(name)} is no name of a credential`,
      "begin with a letter; then letters, digits, _ . - up to 64 characters",
    );
  if (value === "" || value.length > MAX_VALUE || value.includes("\0"))
    throw invalid(
      "/value",
      `expected 1 to ${MAX_VALUE} characters without NUL, got ${value.length}`,
      "send the credential alone",
    );
}

const ownerOf = (server: ServerRow, userId: string): FullOwner => ({
  server,
  userId: server.settings.credentials === "user" ? userId : "",
});

/** No name of a server holds a space. */
const keyOf = ({ server, userId }: FullOwner): string => `${server.name} ${userId}`;

/** The same object while nothing changes. */
function withToken(
  texts: Readonly<Record<string, string>>,
  session: OAuthSession,
): Credential["headers"] {
  let last = { token: "", headers: texts };
  const added = (token: string): Readonly<Record<string, string>> => {
    if (last.token !== token)
      last = { token, headers: { ...texts, authorization: `Bearer ${token}` } };
    return last.headers;
  };
  return () => {
    const token = session.token();
    return typeof token === "string" ? added(token) : token.then(added);
  };
}

function assertHeaders(texts: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(texts))
    if (NOT_IN_HEADER.test(text))
      throw new AppError(
        "UNAVAILABLE",
        "provider_not_configured",
        `the header ${name} would hold a line break or another character that no header may hold`,
        { remedy: "store the credential again, on one line" },
      );
}

const versionOf = ({ name, sealed }: { readonly name: string; readonly sealed: string }): string =>
  `${name} ${sealed}`;

/** Names the owner, and changes with every change of what was used; it reveals nothing of the secrets. */
function idOf({ userId }: FullOwner, versions: readonly string[]): string {
  if (versions.length === 0) return "none";
  const hash = createHash("sha256").update(JSON.stringify(versions)).digest("hex").slice(0, 12);
  return `${userId === "" ? "shared" : `user:${userId}`} ${hash}`;
}

const invalid = (path: string, message: string, suggestion: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", `the credential cannot be stored: ${message}`, {
    remedy: suggestion,
    errors: [{ path, message, suggestion }],
  });
