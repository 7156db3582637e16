// Whose relationships an administrator may touch and see: those of their own tenant. Tools, groups and roles are
// anybody's.
import { AppError } from "../../../contract/errors.ts";
import type {
  FoundSubject,
  ObjectRef,
  Precondition,
  RelationChange,
  Relationship,
  RelationTree,
  SubjectRef,
} from "../../../governance/relations/relation.ts";
import type { RequestContext } from "../../doors.ts";
import { fieldFault } from "../endpoint.ts";

export interface Scope {
  /** Throws with the field that reaches beyond the tenant. */
  assertWritable(
    changes: readonly RelationChange[],
    preconditions: readonly Precondition[],
  ): Promise<void>;
  mayName(ref: ObjectRef): Promise<boolean>;
  visible(relationships: readonly Relationship[]): Promise<Relationship[]>;
  visibleSubjects(type: string, found: readonly FoundSubject[]): Promise<FoundSubject[]>;
  visibleTree(tree: RelationTree): Promise<RelationTree>;
}

export async function scopeOf({
  caller,
  doors,
}: Pick<RequestContext, "caller" | "doors">): Promise<Scope> {
  // Where there is but one tenant, everything is its own, names that were never users included.
  const alone = (await doors.soleTenant()) === caller.tenantId;
  const asked = new Map<string, Promise<boolean>>();
  const once = (key: string, find: () => Promise<unknown>): Promise<boolean> => {
    const known = asked.get(key) ?? exists(find());
    asked.set(key, known);
    return known;
  };
  const isOurs = async ({ type, id }: ObjectRef): Promise<boolean> => {
    if (type === "tenant") return id === caller.tenantId;
    if (type === "user" && id === "*") return alone;
    if (type === "user") return once(`user:${id}`, () => doors.directory.getUser(caller, id));
    if (type === "capsule")
      return once(`capsule:${id}`, () => doors.directory.getCapsule(caller, id));
    return true;
  };
  const mayName = async (ref: ObjectRef): Promise<boolean> => alone || isOurs(ref);
  const keep = async <T>(
    items: readonly T[],
    refsOf: (item: T) => readonly ObjectRef[],
  ): Promise<T[]> => {
    if (alone) return [...items];
    const kept = await Promise.all(
      items.map(async (item) => (await Promise.all(refsOf(item).map(isOurs))).every(Boolean)),
    );
    return items.filter((_, i) => kept[i]);
  };
  const visibleTree = async (tree: RelationTree): Promise<RelationTree> => ({
    ...tree,
    subjects: await keep(tree.subjects, (subject) => [subject]),
    children: await Promise.all(tree.children.map(visibleTree)),
  });
  return {
    mayName,
    visible: (relationships) => keep(relationships, ({ resource, subject }) => [resource, subject]),
    async visibleSubjects(type, found) {
      const kept = await keep(found, ({ id }) => [{ type, id }]);
      return Promise.all(
        kept.map(async (one) =>
          one.except === undefined
            ? one
            : { ...one, except: await keep(one.except, (id) => [{ type, id }]) },
        ),
      );
    },
    visibleTree,
    async assertWritable(changes, preconditions) {
      for (const [i, { operation, relationship }] of changes.entries()) {
        for (const side of ["resource", "subject"] as const) {
          const ref: SubjectRef = relationship[side];
          // What was once written about a name that is gone must be removable.
          const fine =
            operation === "delete" && ref.type !== "tenant"
              ? await mayName(ref)
              : await isOurs(ref);
          if (!fine) throw beyond(`/changes/${i}/relationship/${side}`, ref);
        }
      }
      for (const [i, { filter }] of preconditions.entries()) {
        const { resourceType, resourceId, subjectType, subjectId } = filter;
        const sides = {
          resource: [resourceType, resourceId],
          subject: [subjectType, subjectId],
        } as const;
        for (const [side, [type, id]] of Object.entries(sides))
          if (type !== undefined && id !== undefined && !(await mayName({ type, id })))
            throw beyond(`/preconditions/${i}/filter/${side}`, { type, id });
      }
    },
  };
}

async function exists(found: Promise<unknown>): Promise<boolean> {
  try {
    await found;
    return true;
  } catch (cause) {
    if (cause instanceof AppError && cause.code === "NOT_FOUND") return false;
    throw cause;
  }
}

function beyond(path: string, { type, id }: ObjectRef): AppError {
  if (type === "tenant")
    return fieldFault(
      path,
      `tenant '${id}' is not yours`,
      "name your own tenant: GET /api/v1/whoami",
    );
  if (id === "*")
    return fieldFault(
      path,
      "user:* would reach the users of other tenants",
      "grant it to a group: group:<name>#member",
    );
  return fieldFault(
    path,
    `there is no ${type} '${id}'`,
    `create the ${type} first, or correct the name`,
  );
}
