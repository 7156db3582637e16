// Our types to the server's messages and back.
import { v1 } from "@authzed/authzed-node";
import type { JsonObject } from "../../../contract/call.ts";
import type {
  CheckRequest,
  CheckResult,
  FoundEntry,
  FoundSubject,
  ObjectRef,
  Precondition,
  RelationChange,
  Relationship,
  RelationshipFilter,
  RelationTree,
  SubjectRef,
} from "../relation.ts";

export const objectMessage = ({ type, id }: ObjectRef): v1.ObjectReference => ({
  objectType: type,
  objectId: id,
});

export const subjectMessage = (subject: SubjectRef): v1.SubjectReference => ({
  object: objectMessage(subject),
  optionalRelation: subject.relation ?? "",
});

export const contextMessage = (context: JsonObject | undefined): { context?: v1.PbStruct } =>
  context === undefined ? {} : { context: v1.PbStruct.fromJson(context as never) };

export const checkMessage = (request: CheckRequest): v1.CheckBulkPermissionsRequestItem => ({
  resource: objectMessage(request.resource),
  permission: request.permission,
  subject: subjectMessage(request.subject),
  ...contextMessage(request.context),
});

export function filterMessage(filter: RelationshipFilter): v1.RelationshipFilter {
  const { subjectType, subjectId, subjectRelation } = filter;
  const bySubject =
    subjectType !== undefined || subjectId !== undefined || subjectRelation !== undefined;
  return {
    resourceType: filter.resourceType ?? "",
    optionalResourceId: filter.resourceId ?? "",
    optionalResourceIdPrefix: "",
    optionalRelation: filter.relation ?? "",
    ...(bySubject && {
      optionalSubjectFilter: {
        subjectType: subjectType ?? "",
        optionalSubjectId: subjectId ?? "",
        ...(subjectRelation !== undefined && { optionalRelation: { relation: subjectRelation } }),
      },
    }),
  };
}

const CHANGES: Record<RelationChange["operation"], v1.RelationshipUpdate_Operation> = {
  create: v1.RelationshipUpdate_Operation.CREATE,
  touch: v1.RelationshipUpdate_Operation.TOUCH,
  delete: v1.RelationshipUpdate_Operation.DELETE,
};

export function changeMessage({ operation, relationship }: RelationChange): v1.RelationshipUpdate {
  const { resource, relation, subject, caveat, expiresAt } = relationship;
  return {
    operation: CHANGES[operation],
    relationship: {
      resource: objectMessage(resource),
      relation,
      subject: subjectMessage(subject),
      ...(caveat && {
        optionalCaveat: { caveatName: caveat.name, ...contextMessage(caveat.context) },
      }),
      ...(expiresAt !== undefined && { optionalExpiresAt: timestamp(expiresAt) }),
    },
  };
}

export function preconditionMessage({ operation, filter }: Precondition): v1.Precondition {
  const { MUST_MATCH, MUST_NOT_MATCH } = v1.Precondition_Operation;
  return {
    operation: operation === "must_match" ? MUST_MATCH : MUST_NOT_MATCH,
    filter: filterMessage(filter),
  };
}

/** Holds when exactly this relationship does not exist. */
export function absentMessage({ relationship }: RelationChange): v1.Precondition {
  const { resource, relation, subject } = relationship;
  return preconditionMessage({
    operation: "must_not_match",
    filter: {
      resourceType: resource.type,
      resourceId: resource.id,
      relation,
      subjectType: subject.type,
      subjectId: subject.id,
      subjectRelation: subject.relation ?? "",
    },
  });
}

const timestamp = (ms: number) => ({
  seconds: String(Math.floor(ms / 1000)),
  nanos: (((ms % 1000) + 1000) % 1000) * 1_000_000,
});

export function checkResult(item: v1.CheckBulkPermissionsResponseItem): CheckResult {
  const { NO_PERMISSION, HAS_PERMISSION, CONDITIONAL_PERMISSION } =
    v1.CheckPermissionResponse_Permissionship;
  switch (item.permissionship) {
    case HAS_PERMISSION:
      return { has: "yes" };
    case NO_PERMISSION:
      return { has: "no" };
    case CONDITIONAL_PERMISSION:
      return { has: "conditional", ...missingOf(item) };
    default:
      throw new Error("SpiceDB answered neither yes nor no");
  }
}

interface Answered {
  readonly permissionship: v1.LookupPermissionship;
  readonly partialCaveatInfo?: v1.PartialCaveatInfo;
}

function missingOf({ partialCaveatInfo: info }: Pick<Answered, "partialCaveatInfo">): {
  missing?: readonly string[];
} {
  // A caveat that names a parameter twice has it twice.
  return info && info.missingRequiredContext.length > 0
    ? { missing: [...new Set(info.missingRequiredContext)] }
    : {};
}

const found = (id: string, answer: Answered): FoundEntry =>
  answer.permissionship === v1.LookupPermissionship.HAS_PERMISSION
    ? { id, has: "yes" }
    : { id, has: "conditional", ...missingOf(answer) };

/** The server may name one object several times, once for each path to it: a positive result replaces the others. */
export function merged<A extends FoundEntry>(answers: readonly A[]): A[] {
  const byId = new Map<string, A>();
  for (const one of answers) if (byId.get(one.id)?.has !== "yes") byId.set(one.id, one);
  return [...byId.values()];
}

export const foundResource = (answer: v1.LookupResourcesResponse): FoundEntry =>
  found(answer.resourceObjectId, answer);

export function foundSubject({
  subject,
  excludedSubjects,
}: v1.LookupSubjectsResponse): FoundSubject {
  if (!subject) throw new Error("SpiceDB answered a lookup without a subject");
  const except = excludedSubjects.map((one) => one.subjectObjectId);
  return { ...found(subject.subjectObjectId, subject), ...(except.length > 0 && { except }) };
}

export function relationshipOf(message: v1.Relationship | undefined): Relationship {
  const { resource, subject, optionalCaveat: caveat, optionalExpiresAt: expires } = message ?? {};
  if (!message || !resource || !subject?.object)
    throw new Error("SpiceDB answered half a relationship");
  const context = caveat?.context && (v1.PbStruct.toJson(caveat.context) as JsonObject);
  return {
    resource: objectOf(resource),
    relation: message.relation,
    subject: subjectOf(subject),
    ...(caveat && {
      caveat: {
        name: caveat.caveatName,
        ...(context && Object.keys(context).length > 0 && { context }),
      },
    }),
    ...(expires && { expiresAt: Number(expires.seconds) * 1000 + Math.floor(expires.nanos / 1e6) }),
  };
}

const objectOf = ({ objectType, objectId }: v1.ObjectReference): ObjectRef => ({
  type: objectType,
  id: objectId,
});

function subjectOf({ object, optionalRelation }: v1.SubjectReference): SubjectRef {
  if (!object) throw new Error("SpiceDB answered a subject without an object");
  const plain = objectOf(object);
  return optionalRelation === "" ? plain : { ...plain, relation: optionalRelation };
}

const OPERATIONS: Record<v1.AlgebraicSubjectSet_Operation, RelationTree["operation"]> = {
  [v1.AlgebraicSubjectSet_Operation.UNSPECIFIED]: "union",
  [v1.AlgebraicSubjectSet_Operation.UNION]: "union",
  [v1.AlgebraicSubjectSet_Operation.INTERSECTION]: "intersection",
  [v1.AlgebraicSubjectSet_Operation.EXCLUSION]: "exclusion",
};

/** Nodes in the middle of an expression carry no name of their own: they get that of their parent. */
export function treeOf(
  tree: v1.PermissionRelationshipTree,
  above: { readonly resource: ObjectRef; readonly name: string },
): RelationTree {
  const { treeType: kind, expandedObject, expandedRelation } = tree;
  const here = {
    resource: expandedObject ? objectOf(expandedObject) : above.resource,
    name: expandedRelation === "" ? above.name : expandedRelation,
  };
  if (kind.oneofKind === "intermediate") {
    const { operation, children } = kind.intermediate;
    return {
      ...here,
      operation: OPERATIONS[operation],
      children: children.map((child) => treeOf(child, here)),
      subjects: [],
    };
  }
  const subjects = kind.oneofKind === "leaf" ? kind.leaf.subjects.map(subjectOf) : [];
  return { ...here, operation: "leaf", children: [], subjects };
}
