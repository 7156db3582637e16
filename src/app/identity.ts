// Opens who may call: the first administrator, capsules, sign-ins, keys and users.
import { bootstrap, OWNER } from "../core/identity/bootstrap.ts";
import { createCapsules, type Capsules } from "../core/identity/capsules.ts";
import { createDirectory, type Directory } from "../core/identity/directory.ts";
import { createIdentity, type Identity } from "../core/identity/index.ts";
import { createSessions, type Sessions } from "../core/identity/sessions.ts";
import { memberChanges, starterRelations } from "../core/identity/starter-relations.ts";
import type { JsonObject } from "../contract/call.ts";
import { EVERY_TENANT } from "../storage/store/store.ts";
import type { Base } from "./base.ts";
import type { OpenedGovernance } from "./governance.ts";
import type { OpenedRecord } from "./record.ts";

export interface OpenedIdentity {
  /** The administrator key, only when this start made it. */
  readonly newAdminKey: string | null;
  readonly capsules: Capsules;
  readonly sessions: Sessions;
  readonly identity: Identity;
  readonly directory: Directory;
  /** The listener hears when keys, users, capsules or sign-ins changed, here or on another instance. */
  onRightsChanged(listener: () => void): void;
}

/** Files of the data directory whose content is never recorded or logged. */
const SECRET_FILES = ["admin.key", "cli.key", "ledger.key"];

export async function openIdentity(
  base: Base,
  record: OpenedRecord,
  governance: OpenedGovernance,
): Promise<OpenedIdentity> {
  const { config, store, registry, serverSecret, ids, now } = base;
  const { note } = record;
  const { follower, relations, visibility } = governance;
  const newAdminKey = await ensureAdmin(base, record);
  await starterRelations({ store, relations, tools: base.nativeTools });
  const capsules = createCapsules({
    store,
    now,
    tool: (name) => registry.get(name) ?? null,
  });
  const sessions = createSessions({ store, now, newId: () => ids.handle("sgn", now()) });
  const listeners: (() => void)[] = [];
  /** Before a change is acknowledged: nothing that was known about rights holds any more. */
  const forget = (): void => {
    identity.forget();
    capsules.forget();
    visibility.changed();
    for (const listener of listeners) listener();
  };
  const identity = createIdentity({
    store,
    serverSecret,
    sessions,
    now,
    anonymousUserId: config.server.authEnabled ? null : OWNER,
    onSignIn: (signIn) => note("login.used", signIn, { signInId: signIn.id, keyId: signIn.keyId }),
    async onSignInEnded({ id, tenantId, userId }, by) {
      forget();
      await follower.changed("directory");
      await note("login.ended", { tenantId, userId: by }, { signInId: id, userId });
    },
  });
  follower.on("directory", forget);
  return {
    newAdminKey,
    capsules,
    sessions,
    identity,
    directory: directoryFor(base, record, governance, { forget, noteUses: identity.flush }),
    onRightsChanged: (listener) => void listeners.push(listener),
  };
}

/** Makes the first administrator and its key where there is none; the key where this start made it. */
async function ensureAdmin(
  { config, store, dataDir, serverSecret, nativeTools, now }: Base,
  { masker, log }: OpenedRecord,
): Promise<string | null> {
  const { newAdminKey, adminKeyElsewhere, presetRevoked } = await bootstrap({
    store,
    serverSecret,
    now,
    tools: nativeTools,
    presetAdminKey: config.adminKey ?? null,
    readSecret: dataDir.readSecret,
    writeSecret: dataDir.writeSecret,
  });
  const lines = SECRET_FILES.flatMap((file) => dataDir.readSecret(file)?.split("\n") ?? []);
  for (const line of lines) if (!line.startsWith("-----")) masker.know(line);
  if (presetRevoked)
    log.warn(
      "the preset administrator key (OSTIARY_ADMIN_KEY) was revoked and is not taken again; set another one",
    );
  if (adminKeyElsewhere)
    log.warn(
      { dataDir: dataDir.path },
      "another instance made the administrator key of this database; it is in admin.key of its data directory. To use another one, set OSTIARY_ADMIN_KEY, the same for every instance",
    );
  return newAdminKey;
}

function directoryFor(
  { store, registry, serverSecret, ids, now }: Base,
  { note }: OpenedRecord,
  { follower, relations }: OpenedGovernance,
  { forget, noteUses }: { readonly forget: () => void; readonly noteUses: () => Promise<void> },
): Directory {
  return createDirectory({
    store,
    serverSecret,
    ids,
    now,
    note: (action, who, body) => note(action, who, body as JsonObject),
    async changed(everywhere) {
      forget();
      if (everywhere) await follower.changed("directory");
    },
    relate: async (user) => void (await relations.write(memberChanges(user))),
    async mayConfigure({ userId }, tool) {
      const { has } = await relations.check({
        resource: { type: "tool", id: tool },
        permission: "configure",
        subject: { type: "user", id: userId },
      });
      return has === "yes";
    },
    toolName: (name) => registry.get(name)?.name ?? null,
    modelNames: async (tenantId) =>
      [...(await store.models.list(EVERY_TENANT)), ...(await store.models.list(tenantId))].map(
        ({ name }) => name,
      ),
    noteUses,
    async setToolEnabled(name, enabled) {
      const switched = await registry.setEnabled(name, enabled);
      if (switched) await follower.changed("tools");
      return switched;
    },
  });
}
