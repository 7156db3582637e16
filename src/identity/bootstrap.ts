// What a first start writes: the tenant, two capsules, the owner, the `cli` caller, and their keys. Explicit rows, no bypass.
import type { Level } from "../call.ts";
import { AppError } from "../errors.ts";
import type { KeyRow, Store } from "../store/store.ts";
import type { Tool } from "../tools/tool.ts";
import type { Ids } from "../util/ids.ts";
import { isWellFormed, matches, mintKey, sealKey, type MintedKey } from "./keys.ts";

export const LOCAL_TENANT = "local";
export const OWNER = "owner";
export const CLI = "cli";

export interface BootstrapPowers {
  readonly store: Pick<Store, "tenants" | "users" | "keys" | "capsules">;
  readonly serverSecret: string;
  readonly ids: Ids;
  readonly now: () => number;
  readonly tools: readonly Tool[];
  /** Administrator key preset by the operator, taken as it stands. */
  readonly presetAdminKey: string | null;
  readonly readSecret: (name: string) => string | null;
  readonly writeSecret: (name: string, value: string) => void;
}

/** Safe to run at every start; answers the administrator key only when it was made now. */
export async function bootstrap(p: BootstrapPowers): Promise<{ newAdminKey: string | null }> {
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

  const newAdminKey = await ensureKey(p, {
    userId: OWNER,
    name: "admin",
    file: "admin.key",
    preset: p.presetAdminKey,
    scopes: ["*"],
    level: "admin",
    capsuleId: "all",
  });
  // A level that lets dangerous tools reach the approval stage: there a person decides (C8).
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
  return { newAdminKey };
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
  await p.store.capsules.create({
    id,
    tenantId: LOCAL_TENANT,
    name,
    version: 1,
    status: "active",
    isDefault,
    capabilities,
    listing: "full",
    createdAt: at,
    updatedAt: at,
  });
}

async function ensureUser(
  p: BootstrapPowers,
  id: string,
  name: string,
  role: "admin" | "user",
): Promise<void> {
  if (await p.store.users.get(id)) return;
  await p.store.users.create({
    id,
    tenantId: LOCAL_TENANT,
    name,
    role,
    roles: ["tool_user"],
    plan: null,
    createdAt: p.now(),
  });
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

/** The key in the file if the store still knows it, the preset one, or a new one. */
async function ensureKey(p: BootstrapPowers, wanted: WantedKey): Promise<string | null> {
  const known = (
    await p.store.keys.list(LOCAL_TENANT, { limit: 100, userId: wanted.userId })
  ).filter((key) => key.name === wanted.name);
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
    if (!alive(wanted.preset)) await store(p, wanted, sealKey(wanted.preset, p.serverSecret));
    return null;
  }
  const kept = p.readSecret(wanted.file);
  if (kept !== null && alive(kept)) return null;
  const minted = mintKey(p.serverSecret);
  await store(p, wanted, minted);
  p.writeSecret(wanted.file, minted.secret);
  return minted.secret;
}

async function store(p: BootstrapPowers, wanted: WantedKey, key: MintedKey): Promise<void> {
  const now = p.now();
  const row: KeyRow = {
    id: p.ids.next("key", now),
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
  await p.store.keys.create(row);
}
