// Secrets of servers as rows: sealed for their row, readable by this server only, known to the masker before anyone
// has them.
import type { CredentialRow, ServerRow, UpstreamStore } from "../../../storage/store/store.ts";
import { AppError } from "../../../contract/errors.ts";
import type { Masker } from "../../../util/secrets/masker.ts";
import { createSealed, sealingKey } from "../../../util/secrets/sealed.ts";

export interface VaultPowers {
  readonly store: Pick<UpstreamStore, "credentials">;
  readonly serverSecret: string;
  readonly masker: Pick<Masker, "know" | "knowTemporary">;
  readonly now: () => number;
}

/** Whose secret it is: a server of a tenant, and a user of it; empty: shared. */
export interface SecretOwner {
  readonly server: Pick<ServerRow, "name" | "tenantId">;
  readonly userId: string;
}

export interface OpenedSecret {
  readonly name: string;
  readonly value: string;
  /** As it is kept: another text after every change. */
  readonly sealed: string;
}

export type SecretsIn = (value: string) => readonly string[];

export interface Vault {
  /** `secretsIn` says which parts of the text are secrets; without it the whole is one. */
  get(owner: SecretOwner, name: string, secretsIn?: SecretsIn): Promise<OpenedSecret | null>;
  list(owner: SecretOwner): Promise<CredentialRow[]>;
  put(owner: SecretOwner, name: string, value: string, secretsIn?: SecretsIn): Promise<void>;
  remove(owner: SecretOwner, name: string): Promise<boolean>;
}

const PURPOSE = "ostiary upstream: credential, v1";

export function createVault({ store, serverSecret, masker, now }: VaultPowers): Vault {
  const sealed = createSealed(sealingKey(serverSecret, PURPOSE));
  /** What an authorization gave is replaced by the hour. */
  const know = (value: string, secretsIn: SecretsIn | undefined): void => {
    if (secretsIn === undefined) masker.know(value);
    else for (const secret of secretsIn(value)) masker.knowTemporary(secret);
  };
  return {
    async get(owner, name, secretsIn) {
      const row = await store.credentials.get(owner.server.name, owner.userId, name);
      if (row === null || row.tenantId !== owner.server.tenantId) return null;
      const value = open(() => sealed.open(boundTo(owner, name), row.sealed), owner, name);
      know(value, secretsIn);
      return { name, value, sealed: row.sealed };
    },
    async list(owner) {
      const rows = await store.credentials.list(owner.server.name, owner.userId);
      return rows.filter((row) => row.tenantId === owner.server.tenantId);
    },
    async put(owner, name, value, secretsIn) {
      know(value, secretsIn);
      await store.credentials.put({
        server: owner.server.name,
        tenantId: owner.server.tenantId,
        userId: owner.userId,
        name,
        sealed: sealed.close(boundTo(owner, name), value),
        updatedAt: now(),
      });
    },
    remove: (owner, name) => store.credentials.remove(owner.server.name, owner.userId, name),
  };
}

/** A row that was copied under another server, tenant, user or name does not open. */
const boundTo = ({ server, userId }: SecretOwner, name: string): string =>
  JSON.stringify([server.tenantId, server.name, userId, name]);

function open(read: () => string, { server }: SecretOwner, name: string): string {
  try {
    return read();
  } catch (cause) {
    throw new AppError(
      "UNAVAILABLE",
      "provider_not_configured",
      `the credential ${name} of server ${server.name} cannot be opened: it was sealed by another server, or was changed`,
      { remedy: "store it again", cause },
    );
  }
}
