// What servers are reached with. The caller's own credential is out of reach here (T1): all that comes in is a server and the
// id of a user, all that can be read is what was stored for the two, and a Caller carries no credential to begin with.
import { createHash } from "node:crypto";
import { AppError } from "../errors.ts";
import type { ServerRow } from "../store/store.ts";
import { createVault, type Opened, type Owner, type VaultPowers } from "./credentials-vault.ts";
import type { Credential, Credentials } from "./upstream.ts";

export interface CredentialView {
  readonly name: string;
  readonly updatedAt: number;
}

/** `userId` is empty for what everybody uses. */
export interface OpenedCredentials extends Credentials {
  put(server: ServerRow, userId: string, name: string, value: string): Promise<void>;
  remove(server: ServerRow, userId: string, name: string): Promise<boolean>;
  /** Names and times; values are never shown again. */
  list(server: ServerRow, userId: string): Promise<CredentialView[]>;
  /** Another instance changed something: what is remembered of this server, or of all, is read again. */
  forget(server?: string): void;
}

const REFERENCE = /\$\{credential:([^}]*)\}/g;
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const MAX_VALUE = 16_384;
/** Users whose credentials are remembered; the ones not asked for longest go first. */
const MAX_REMEMBERED = 4_096;
/** What a header may not hold (RFC 9110), so that nobody can begin another one. */
const NOT_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

export function openCredentials(powers: VaultPowers): OpenedCredentials {
  const vault = createVault(powers);
  /** A call may ask every millisecond, and the answer changes with a login. */
  const remembered = new Map<string, { readonly server: ServerRow; readonly made: Promise<Credential> }>(); // prettier-ignore

  const forget = (server?: string): void => {
    if (server === undefined) remembered.clear();
    for (const [key, one] of remembered) if (one.server.name === server) remembered.delete(key);
  };

  return {
    of(server, userId) {
      const owner = ownerOf(server, userId);
      const key = JSON.stringify([server.name, owner.userId]);
      const there = remembered.get(key);
      remembered.delete(key);
      const made = there?.server === server ? there.made : credentialOf(owner);
      remembered.set(key, { server, made });
      // A failure is not remembered: it may be mended meanwhile.
      made.catch(() => remembered.get(key)?.made === made && remembered.delete(key));
      if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value ?? "");
      return made;
    },
    async put(server, userId, name, value) {
      if (!NAME.test(name)) throw invalid("/name", `${JSON.stringify(name)} is no name of a credential`, "begin with a letter; then letters, digits, _ . - up to 64 characters"); // prettier-ignore
      if (value === "" || value.length > MAX_VALUE || value.includes("\0")) throw invalid("/value", `expected 1 to ${MAX_VALUE} characters without NUL, got ${value.length}`, "send the credential alone"); // prettier-ignore
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
  };

  async function credentialOf(owner: Owner & { readonly server: ServerRow }): Promise<Credential> {
    const { transport } = owner.server;
    const given = transport.kind === "stdio" ? transport.env : transport.headers;
    const values = await openAll(namesIn(Object.values(given)), owner);
    const texts = filled(given, values, transport.kind !== "stdio");
    return {
      id: idOf(owner, values),
      env: () => Promise.resolve(transport.kind === "stdio" ? texts : {}),
      headers: () => (transport.kind === "stdio" ? {} : texts),
      oauth: null,
    };
  }

  async function openAll(names: readonly string[], owner: Owner): Promise<Map<string, Opened>> {
    const found = await Promise.all(names.map((name) => vault.get(owner, name)));
    const missing = names.filter((_, at) => found[at] === null);
    if (missing.length > 0) throw missingOf(owner, missing);
    return new Map(found.flatMap((one) => (one === null ? [] : [[one.name, one] as const])));
  }
}

const ownerOf = (server: ServerRow, userId: string): Owner & { readonly server: ServerRow } => ({
  server,
  userId: server.settings.credentials === "user" ? userId : "",
});

/** The names that texts refer to, each once. */
function namesIn(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap((text) => [...text.matchAll(REFERENCE)].map(([, name]) => name ?? "")))]; // prettier-ignore
}

function filled(
  given: Readonly<Record<string, string>>,
  values: ReadonlyMap<string, Opened>,
  inHeaders: boolean,
): Readonly<Record<string, string>> {
  const entries = Object.entries(given).map(([name, text]) => {
    const full = text.replace(REFERENCE, (_, inner: string) => values.get(inner)?.value ?? "");
    if (inHeaders && NOT_IN_HEADER.test(full)) throw new AppError("UNAVAILABLE", "provider_not_configured", `the header ${name} would hold a line break or another character that no header may hold`, { remedy: "store the credential again, on one line" }); // prettier-ignore
    return [name, full] as const;
  });
  return Object.freeze(Object.fromEntries(entries));
}

/** Names the owner, and changes with every change of what was used; of the secrets it tells nothing. */
function idOf({ userId }: Owner, values: ReadonlyMap<string, Opened>): string {
  if (values.size === 0) return "none";
  const versions = [...values.values()].map(({ name, sealed }) => [name, sealed]);
  const hash = createHash("sha256").update(JSON.stringify(versions)).digest("hex").slice(0, 12);
  return `${userId === "" ? "shared" : `user:${userId}`} ${hash}`;
}

function missingOf({ server, userId }: Owner, names: readonly string[]): AppError {
  const whose = userId === "" ? "" : " --mine";
  return new AppError(
    "UNAUTHORIZED",
    "upstream_login",
    `server ${server.name} needs the credential ${names.join(", ")}, and ${userId === "" ? "none is stored" : "you have stored none"}`,
    { remedy: `ostiary servers credential ${server.name} ${names[0] ?? ""}${whose}` },
  );
}

const invalid = (path: string, message: string, suggestion: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", `the credential cannot be stored: ${message}`, { remedy: suggestion, errors: [{ path, message, suggestion }] }); // prettier-ignore
