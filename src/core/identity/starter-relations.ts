// The relationships that make a first start usable: ordinary rows, not a bypass, and removable like any other.
import type { RelationChange, Relations } from "../../governance/relations/relation.ts";
import type { Store, UserRow } from "../../storage/store/store.ts";
import type { Tool } from "../../contract/tool.ts";
import { CLI, LOCAL_TENANT } from "./bootstrap.ts";

/** Names of the tools that have got theirs: what was taken away does not come back with the next start. */
const KNOWN = "relations.starter";
const PAGE = 100;
/** SpiceDB takes at most 1,000 changes at once. */
const AT_ONCE = 500;

/** Local users may request anything; dangerous calls still wait for the owner's approval. */
const CLI_CHANGES: readonly RelationChange[] = [
  "shell_executor",
  "package_installer",
  "tool_creator",
].map((relation) => ({
  operation: "touch",
  relationship: {
    resource: { type: "tenant", id: LOCAL_TENANT },
    relation,
    subject: { type: "user", id: CLI },
  },
}));

export interface StarterPowers {
  readonly store: Pick<Store, "facts" | "users">;
  readonly relations: Pick<Relations, "write">;
  readonly tools: readonly Tool[];
}

/** Safe to run at every start: the first writes all users and all tools, later ones only new tools. */
export async function starterRelations({ store, relations, tools }: StarterPowers): Promise<void> {
  const known = await store.facts.get(KNOWN);
  const given = new Set(known === null ? [] : (JSON.parse(known) as string[]));
  const fresh = tools.filter((tool) => !given.has(tool.name)).map((tool) => tool.name);
  const changes = [
    ...fresh.flatMap(toolChanges),
    ...(known === null ? [...(await everybody(store)).flatMap(memberChanges), ...CLI_CHANGES] : []),
  ];
  for (let at = 0; at < changes.length; at += AT_ONCE)
    await relations.write(changes.slice(at, at + AT_ONCE));
  if (fresh.length > 0 || known === null)
    await store.facts.set(KNOWN, JSON.stringify([...given, ...fresh].sort()));
}

/** What a user is to their tenant; written with every user, and again when the role changes. */
export function memberChanges(user: Pick<UserRow, "id" | "tenantId" | "role">): RelationChange[] {
  const change = (operation: RelationChange["operation"], relation: string): RelationChange => ({
    operation,
    relationship: {
      resource: { type: "tenant", id: user.tenantId },
      relation,
      subject: { type: "user", id: user.id },
    },
  });
  return [change("touch", "member"), change(user.role === "admin" ? "touch" : "delete", "admin")];
}

/** Every member of the local tenant may run it, its administrators configure it and approve its calls. */
function toolChanges(name: string): RelationChange[] {
  const resource = { type: "tool", id: name };
  const tenant = { type: "tenant", id: LOCAL_TENANT };
  return [
    { operation: "touch", relationship: { resource, relation: "tenant", subject: tenant } },
    {
      operation: "touch",
      relationship: { resource, relation: "executor", subject: { ...tenant, relation: "member" } },
    },
  ];
}

async function everybody(store: Pick<Store, "users">): Promise<UserRow[]> {
  const users: UserRow[] = [];
  for (let after: string | undefined; ; after = users.at(-1)?.id) {
    const page = await store.users.list(LOCAL_TENANT, {
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    users.push(...page);
    if (page.length < PAGE) return users;
  }
}
