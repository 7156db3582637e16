// What a first start writes: the tenant, two capsules, the owner, the `cli` caller, and their keys. Explicit rows, no
// bypass.
import { CAPSULE_DEFAULTS } from "../../contract/agent-config.ts";
import type { Level } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { AlreadyExists, type KeyRow, type Store } from "../../storage/store/store.ts";
import type { Tool } from "../../contract/tool.ts";
import { isWellFormed, matches, mintKey, sealKey, type MintedKey } from "./keys.ts";

export const LOCAL_TENANT = "local";
export const OWNER = "owner";
export const CLI = "cli";

export interface BootstrapPowers {
  readonly store: Pick<Store, "shared" | "tenants" | "users" | "keys" | "capsules">;
  readonly serverSecret: string;
  readonly now: () => number;
  readonly tools: readonly Tool[];
  /** Administrator key preset by the operator, taken as it stands. */
  readonly presetAdminKey: string | null;
  readonly readSecret: (name: string) => string | null;
  readonly writeSecret: (name: string, value: string) => void;
}

export interface Bootstrapped {
  /** Only when it was made now. */
  readonly newAdminKey: string | null;
  /** The database has an administrator key, and it lies with the instance that made it. */
  readonly adminKeyElsewhere: boolean;
  /** The preset administrator key was revoked, and stays so: a start does not give back a right that was revoked. */
  readonly presetRevoked: boolean;
}

/** Safe to run at every start, and by several instances at once: what is there stays, and nobody makes it twice. */
export async function bootstrap(p: BootstrapPowers): Promise<Bootstrapped> {
  const now = p.now();
  await p.store.tenants.ensure({
    id: LOCAL_TENANT,
    name: "Local",
    plan: "enterprise",
    createdAt: now,
  });
  await ensureCapsule(
    p,
    "starter",
    "Starter",
    p.tools.filter(isForStarters).map((tool) => tool.name),
    true,
  );
  await ensureCapsule(p, "all", "All native tools", ["*"], false);
  await ensureUser(p, OWNER, "Owner", "admin");
  await ensureUser(p, CLI, "Command line", "user");

  const admin = await ensureKey(p, {
    userId: OWNER,
    name: "admin",
    file: "admin.key",
    preset: p.presetAdminKey,
    scopes: ["*"],
    level: "admin",
    capsuleId: "all",
  });
  // A level that lets dangerous tools reach the approval stage: there a person decides.
  const scopes = ["agent:execute:safe", "agent:execute:moderate", "agent:execute:dangerous"];
  await ensureKey(p, {
    userId: CLI,
    name: "cli",
    file: "cli.key",
    preset: null,
    scopes,
    level: "admin",
    capsuleId: "all",
  });
  return {
    newAdminKey: admin.minted,
    adminKeyElsewhere: admin.elsewhere,
    presetRevoked: admin.revoked ?? false,
  };
}

/** What asks for a special permission, or can do anything to the machine, is linked by a person. */
const isForStarters = (tool: Tool): boolean =>
  tool.requiredPermissions.length === 0 && tool.effects !== "system_dangerous";

async function ensureCapsule(
  p: BootstrapPowers,
  id: string,
  name: string,
  capabilities: string[],
  isDefault: boolean,
): Promise<void> {
  if (await p.store.capsules.get(id)) return;
  const at = p.now();
  await unlessThere(() =>
    p.store.capsules.create({
      id,
      tenantId: LOCAL_TENANT,
      name,
      version: 1,
      parent: null,
      status: "active",
      isDefault,
      capabilities,
      listing: "full",
      ...CAPSULE_DEFAULTS,
      createdAt: at,
      updatedAt: at,
    }),
  );
}

/** False when another instance, which started at the same time, was faster. */
async function unlessThere(create: () => Promise<void>): Promise<boolean> {
  try {
    await create();
    return true;
  } catch (cause) {
    if (cause instanceof AlreadyExists) return false;
    throw cause;
  }
}

async function ensureUser(
  p: BootstrapPowers,
  id: string,
  name: string,
  role: "admin" | "user",
): Promise<void> {
  if (await p.store.users.get(id)) return;
  await unlessThere(() =>
    p.store.users.create({
      id,
      tenantId: LOCAL_TENANT,
      name,
      role,
      roles: ["tool_user"],
      plan: null,
      preferences: {},
      createdAt: p.now(),
    }),
  );
}

interface WantedKey {
  readonly userId: string;
  readonly name: string;
  readonly file: string;
  readonly preset: string | null;
  readonly scopes: readonly string[];
  readonly level: Level;
  readonly capsuleId: string;
}

interface Ensured {
  readonly minted: string | null;
  readonly elsewhere: boolean;
  readonly revoked?: boolean;
}

const PAGE = 100;

/** All of them, however many: one that is passed over would be made again. */
async function keysOf(p: BootstrapPowers, userId: string): Promise<KeyRow[]> {
  const keys: KeyRow[] = [];
  for (;;) {
    const after = keys.at(-1)?.id ?? "";
    const page = await p.store.keys.list(LOCAL_TENANT, { limit: PAGE, after, userId });
    keys.push(...page);
    if (page.length < PAGE) return keys;
  }
}

/**
 * The key in the file if the store still knows it, the preset one, or a new one. On a database of several instances a
 * new one is made only while there is none: each further instance has a data directory of its own, and gets no key
 * for it.
 */
async function ensureKey(p: BootstrapPowers, wanted: WantedKey): Promise<Ensured> {
  const known = (await keysOf(p, wanted.userId)).filter((key) => key.name === wanted.name);
  // Instances that check at the same moment choose the same id, so that one of them makes the key.
  const id = `key_${wanted.name}_${known.length + 1}`;
  const alive = (secret: string): boolean =>
    known.some((key) => key.revokedAt === null && matches(secret, key, p.serverSecret));
  if (wanted.preset !== null) {
    if (!isWellFormed(wanted.preset)) {
      throw new AppError(
        "BAD_REQUEST",
        "invalid_input",
        "the preset administrator key cannot be used",
        {
          remedy:
            "give 32 to 512 characters; one that begins with ost_ must be a whole key of ours",
        },
      );
    }
    const { preset } = wanted;
    if (
      known.some((key) => key.revokedAt !== null && matches(preset, key, p.serverSecret)) &&
      !alive(preset)
    )
      return { minted: null, elsewhere: false, revoked: true };
    if (!alive(preset)) await store(p, id, wanted, sealKey(preset, p.serverSecret));
    return { minted: null, elsewhere: false };
  }
  const kept = p.readSecret(wanted.file);
  if (kept !== null && alive(kept)) return { minted: null, elsewhere: false };
  if (p.store.shared && known.some((key) => key.revokedAt === null))
    return { minted: null, elsewhere: true };
  const minted = mintKey(p.serverSecret);
  if (!(await store(p, id, wanted, minted))) return { minted: null, elsewhere: true };
  p.writeSecret(wanted.file, minted.secret);
  return { minted: minted.secret, elsewhere: false };
}

function store(
  p: BootstrapPowers,
  id: string,
  wanted: WantedKey,
  key: MintedKey,
): Promise<boolean> {
  const now = p.now();
  const row: KeyRow = {
    id,
    tenantId: LOCAL_TENANT,
    userId: wanted.userId,
    name: wanted.name,
    prefix: key.prefix,
    salt: key.salt,
    hash: key.hash,
    scopes: wanted.scopes,
    level: wanted.level,
    capsuleId: wanted.capsuleId,
    createdAt: now,
    // The installation's own keys live as long as their 0600 files.
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    limits: null,
  };
  return unlessThere(() => p.store.keys.create(row));
}
