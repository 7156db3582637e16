// Requests and relationships against the schema: the same refusals as SpiceDB's.
import type { JsonObject } from "../../../contract/call.ts";
import type { TupleChange, TupleKey, TupleRow } from "../../../storage/store/store.ts";
import type {
  ObjectRef,
  Precondition,
  RelationChange,
  Relationship,
  RelationshipFilter,
  SubjectRef,
} from "../relation.ts";
import { isObjectId, relationshipText } from "../text.ts";
import type { RelationSubject } from "./evaluate.ts";
import { invalid } from "./fault.ts";
import { subjectTypeText, type Member, type ObjectType, type Schema } from "./schema.ts";
import { tupleKey } from "./tuples.ts";

export function knownType(schema: Schema, name: string): ObjectType {
  const type = schema.types.get(name);
  if (type !== undefined) return type;
  throw invalid(
    `the schema has no type ${JSON.stringify(name)}`,
    `it has ${[...schema.types.keys()].join(", ")}`,
  );
}

export function knownMember(schema: Schema, typeName: string, name: string): Member {
  const type = knownType(schema, typeName);
  const member = type.members.get(name);
  if (member !== undefined) return member;
  const known = [...type.members.keys()].join(", ");
  throw invalid(
    `${JSON.stringify(typeName)} has no relation or permission ${JSON.stringify(name)}`,
    `it has ${known}`,
  );
}

/** A single subject: checks are not made for a wildcard. */
export function knownSubject(
  schema: Schema,
  { type, id, relation = "" }: SubjectRef,
): RelationSubject {
  if (relation === "") knownType(schema, type);
  else knownMember(schema, type, relation);
  if (id === "*") throw invalid("a check needs a single subject, not the wildcard *");
  return { type, id, relation };
}

const ID_RULE = "ids are 1 to 1024 of letters, digits and / _ | - = +";

export function requireId(what: string, { id }: ObjectRef): void {
  if (!isObjectId(id)) throw invalid(`${what} ${JSON.stringify(id)} is no valid id`, ID_RULE);
}

/** Changes as the store takes them. Throws when any of them is not valid. */
export function checkedChanges(schema: Schema, changes: readonly RelationChange[]): TupleChange[] {
  const seen = new Set<string>();
  return changes.map(({ operation, relationship }) => {
    requireAllowed(schema, relationship, operation === "delete");
    const tuple = rowOf(relationship);
    const key = tupleKey(tuple);
    if (seen.has(key))
      throw invalid(
        `the relationship ${relationshipText(relationship)} is changed twice in one write`,
      );
    seen.add(key);
    return { operation, tuple };
  });
}

function requireAllowed(schema: Schema, relationship: Relationship, deletion: boolean): void {
  const { resource, relation, subject, caveat, expiresAt } = relationship;
  requireId("the resource", resource);
  const wildcard = subject.id === "*";
  if (!wildcard) requireId("the subject", subject);
  const member = knownMember(schema, resource.type, relation);
  if (subject.relation === undefined) knownType(schema, subject.type);
  else knownMember(schema, subject.type, subject.relation);
  if (member.allowed === null)
    throw invalid(
      `${relation} is a permission of ${resource.type}: relationships are written to relations`,
    );
  if (wildcard && subject.relation !== undefined)
    throw invalid("a wildcard * has no relation: write it without #");
  if (expiresAt !== undefined && !Number.isSafeInteger(expiresAt))
    throw invalid("expiresAt must be epoch milliseconds");
  const wanted = {
    type: subject.type,
    relation: subject.relation ?? "",
    wildcard,
    caveat: caveat?.name ?? "",
    expiration: expiresAt !== undefined,
  };
  // To delete, the traits need not be known.
  const anyTraits = deletion && caveat === undefined;
  const fits = member.allowed.some((one) =>
    anyTraits
      ? one.type === wanted.type && one.relation === wanted.relation && one.wildcard === wildcard
      : subjectTypeText(one) === subjectTypeText(wanted),
  );
  if (!fits)
    throw invalid(
      `relation ${relation} of ${resource.type} does not take \`${subjectTypeText(wanted)}\``,
      `it takes ${member.allowed.map(subjectTypeText).join(" | ")}`,
    );
  if (caveat?.context !== undefined) requireContext(schema, caveat.name, caveat.context);
}

function requireContext(schema: Schema, name: string, context: JsonObject): void {
  const parameters = schema.caveats.get(name)?.parameters;
  for (const [parameter, value] of Object.entries(context)) {
    const type = parameters?.get(parameter);
    if (type === undefined)
      throw invalid(`caveat ${name} has no parameter ${JSON.stringify(parameter)}`);
    try {
      type.convert(value);
    } catch (cause) {
      throw invalid(
        `caveat ${name}, parameter ${parameter} (${type.text}): ${(cause as Error).message}`,
      );
    }
  }
}

/** The first stored relationship that a schema would not allow, or null. */
export function orphan(schema: Schema, tuples: Iterable<TupleRow>): Relationship | null {
  for (const tuple of tuples) {
    const relationship = relationshipOf(tuple);
    try {
      requireAllowed(schema, relationship, false);
    } catch {
      return relationship;
    }
  }
  return null;
}

export function checkedPreconditions(
  schema: Schema,
  preconditions: readonly Precondition[],
): { matches: boolean; filter: Partial<TupleKey> }[] {
  return preconditions.map(({ operation, filter }) => {
    if (Object.values(filter).every((value) => value === undefined))
      throw invalid(
        "a precondition needs at least one condition: resourceType, relation, subjectType …",
      );
    return { matches: operation === "must_match", filter: checkedFilter(schema, filter) };
  });
}

/** Names that the schema lacks are an error of the caller: they would never match anything. */
export function checkedFilter(schema: Schema, filter: RelationshipFilter): Partial<TupleKey> {
  const { resourceType, relation, subjectType, subjectRelation } = filter;
  if (resourceType !== undefined) knownType(schema, resourceType);
  if (resourceType !== undefined && relation !== undefined)
    knownMember(schema, resourceType, relation);
  if (subjectType !== undefined) knownType(schema, subjectType);
  if (subjectType !== undefined && subjectRelation !== undefined && subjectRelation !== "")
    knownMember(schema, subjectType, subjectRelation);
  return filter;
}

function rowOf({ resource, relation, subject, caveat, expiresAt }: Relationship): TupleRow {
  return {
    resourceType: resource.type,
    resourceId: resource.id,
    relation,
    subjectType: subject.type,
    subjectId: subject.id,
    subjectRelation: subject.relation ?? "",
    caveat: caveat?.name ?? "",
    caveatContext: caveat?.context === undefined ? "" : JSON.stringify(caveat.context),
    expiresAt: expiresAt ?? null,
  };
}

export function subjectOf(tuple: TupleKey): SubjectRef {
  const { subjectType: type, subjectId: id, subjectRelation: relation } = tuple;
  return relation === "" ? { type, id } : { type, id, relation };
}

export function relationshipOf(tuple: TupleRow): Relationship {
  const { caveat, caveatContext, expiresAt } = tuple;
  const context = caveatContext === "" ? {} : { context: JSON.parse(caveatContext) as JsonObject };
  return {
    resource: { type: tuple.resourceType, id: tuple.resourceId },
    relation: tuple.relation,
    subject: subjectOf(tuple),
    ...(caveat === "" ? {} : { caveat: { name: caveat, ...context } }),
    ...(expiresAt === null ? {} : { expiresAt }),
  };
}
