// Puts approved tools of upstream servers into capsules, with the relations that let people call them.
import type { Caller } from "../../contract/call.ts";
import type { RelationChange, Relations } from "../../governance/relations/relation.ts";
import type { ToolGrant, ToolLinks } from "../../reach/upstream/admin/tool-links.ts";
import type { CapsuleRow } from "../../storage/store/store.ts";
import type { Directory } from "./directory.ts";

export interface LinkingPowers {
  readonly directory: Pick<Directory, "getCapsule" | "listCapsules" | "updateCapsule">;
  readonly relations: Pick<Relations, "read" | "write">;
}

const PAGE = 100;
/** SpiceDB takes at most 1,000 changes at once. */
const AT_ONCE = 500;

export function createLinking({ directory, relations }: LinkingPowers): ToolLinks {
  const every = async (actor: Caller): Promise<CapsuleRow[]> => {
    const rows: CapsuleRow[] = [];
    for (let after: string | undefined; ; after = rows.at(-1)?.id) {
      const page = await directory.listCapsules(actor, {
        limit: PAGE,
        ...(after === undefined ? {} : { after }),
      });
      rows.push(...page);
      if (page.length < PAGE) return rows;
    }
  };
  const write = async (changes: readonly RelationChange[]): Promise<void> => {
    for (let at = 0; at < changes.length; at += AT_ONCE)
      await relations.write(changes.slice(at, at + AT_ONCE));
  };

  /** One after the other: a capsule is read and then written, and neither may lose what the other added. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };

  return {
    link: (actor, tools, { capsules, grant }) =>
      inTurn(async () => {
        const chosen =
          capsules === undefined
            ? (await every(actor)).filter(
                ({ status, isDefault, capabilities }) =>
                  status === "active" && (isDefault || capabilities.includes("*")),
              )
            : await Promise.all(capsules.map((id) => directory.getCapsule(actor, id)));
        // Rights first: a caller who sees the tool in a capsule can call it.
        await write(tools.flatMap((name) => grantChanges(actor.tenantId, name, grant)));
        for (const { id, capabilities } of chosen) {
          // One that is held at a pin stays at that pin.
          const missing = tools.filter(
            (name) => !capabilities.some((held) => toolPart(held) === name),
          );
          if (missing.length > 0)
            await directory.updateCapsule(actor, id, {
              capabilities: [...capabilities, ...missing],
            });
        }
        return chosen.map(({ id }) => id);
      }),
    unlink: (actor, tools) =>
      inTurn(async () => {
        const gone = new Set(tools);
        for (const { id, capabilities } of await every(actor)) {
          const kept = capabilities.filter((held) => !gone.has(toolPart(held)));
          if (kept.length < capabilities.length)
            await directory.updateCapsule(actor, id, { capabilities: kept });
        }
        for (const name of tools) {
          const { items } = await relations.read(
            { resourceType: "tool", resourceId: name },
            { limit: 1_000 },
          );
          await write(items.map((relationship) => ({ operation: "delete", relationship })));
        }
      }),
  };
}

/** A capsule may hold `server/tool@pin`. */
const toolPart = (held: string): string => held.split("@", 1)[0] ?? held;

function grantChanges(tenantId: string, name: string, grant: ToolGrant): RelationChange[] {
  const resource = { type: "tool", id: name };
  const tenant = { type: "tenant", id: tenantId };
  const belongs = {
    operation: "touch",
    relationship: { resource, relation: "tenant", subject: tenant },
  } as const;
  const members = {
    operation: "touch",
    relationship: { resource, relation: "executor", subject: { ...tenant, relation: "member" } },
  } as const;
  return grant === "members" ? [belongs, members] : [belongs];
}
