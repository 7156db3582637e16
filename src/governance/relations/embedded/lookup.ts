// Lookups: which subjects have a permission, and on which objects a subject has it. Candidates come from the
// relationships; each then goes through the same check.
import type { JsonObject } from "../../../contract/call.ts";
import type { FoundEntry, FoundSubject, RelationshipFilter, RelationTree } from "../relation.ts";
import { Evaluation, MAX_DEPTH, type RelationSubject } from "./evaluate.ts";
import { invalid } from "./fault.ts";
import type { CheckOutcome } from "./outcome.ts";
import type { Member, Node, Schema } from "./schema.ts";
import { everyone, expired, setKey, type Tuple, type Tuples } from "./tuples.ts";
import { subjectOf } from "./validate.ts";

/** What lookups read: the state of the engine at one moment. */
export interface Snapshot {
  readonly schema: Schema;
  readonly tuples: Tuples;
  readonly now: number;
}

export function checkPermission(
  at: Snapshot,
  member: Member,
  id: string,
  subject: RelationSubject,
  context?: JsonObject,
): Exclude<CheckOutcome, { has: "fault" }> {
  const outcome = new Evaluation(at.schema, at.tuples, subject, context, at.now).check(member, id);
  if (outcome.has === "fault") throw outcome.error;
  return outcome;
}

function found(id: string, outcome: CheckOutcome): FoundEntry | null {
  if (outcome.has === "yes") return { id, has: "yes" };
  return outcome.has === "conditional"
    ? { id, has: "conditional", missing: outcome.missing }
    : null;
}

const byId = (a: FoundEntry, b: FoundEntry): number => (a.id < b.id ? -1 : 1);

export function findResources(
  at: Snapshot,
  member: Member,
  subject: RelationSubject,
  context?: JsonObject,
): FoundEntry[] {
  const candidates = new Set(at.tuples.ids(member.type));
  // An object is a subject of its own relations without any relationship.
  if (subject.type === member.type) candidates.add(subject.id);
  const results: FoundEntry[] = [];
  for (const id of candidates) {
    const one = found(id, checkPermission(at, member, id, subject, context));
    if (one !== null) results.push(one);
  }
  return results.sort(byId);
}

export function findSubjects(
  at: Snapshot,
  member: Member,
  id: string,
  { type, relation }: Omit<RelationSubject, "id">,
  context?: JsonObject,
): FoundSubject[] {
  const named = collectSubjects(at, member, id, { type, relation });
  const judgeOne = (subjectId: string): CheckOutcome =>
    checkPermission(at, member, id, { type, id: subjectId, relation }, context);
  const results: FoundSubject[] = [];
  for (const candidate of named.granted) {
    const one = found(candidate, judgeOne(candidate));
    if (one !== null) results.push(one);
  }
  const anybody = relation === "" ? found("*", judgeOne("*")) : null;
  if (anybody !== null) {
    const except = [...named.denied]
      .filter((one) => {
        const { has } = judgeOne(one);
        return has === "no" || (has === "conditional" && !named.granted.has(one));
      })
      .sort();
    results.push(except.length > 0 ? { ...anybody, except } : anybody);
  }
  return results.sort(byId);
}

/** Subjects named by relationships anywhere below a permission: where it grants, and where it takes away. */
function collectSubjects(
  at: Snapshot,
  start: Member,
  startId: string,
  wanted: Omit<RelationSubject, "id">,
): { granted: Set<string>; denied: Set<string> } {
  const granted = new Set<string>();
  const denied = new Set<string>();
  const seen = new Set<string>();

  const visitMember = (member: Member, id: string, into: Set<string>): void => {
    if (member.type === wanted.type && member.name === wanted.relation) into.add(id);
    const key = `${into === granted ? "+" : "-"}${setKey(member.type, id, member.name)}`;
    if (seen.has(key)) return;
    seen.add(key);
    if (member.allowed === null) return visitNode(member.body, member.type, id, into);
    for (const tuple of live(at, member.type, id, member.name)) {
      const { subjectType, subjectId, subjectRelation } = tuple;
      if (subjectType === wanted.type && subjectRelation === wanted.relation && subjectId !== "*")
        into.add(subjectId);
      const next = at.schema.types.get(subjectType)?.members.get(subjectRelation);
      if (next !== undefined) visitMember(next, subjectId, into);
    }
  };
  const visitNode = (node: Node, type: string, id: string, into: Set<string>): void => {
    switch (node.kind) {
      case "member":
        return visitMember(node.member, id, into);
      case "union":
      case "intersection":
        return node.children.forEach((child) => visitNode(child, type, id, into));
      case "exclusion":
        visitNode(node.base, type, id, into);
        return visitNode(node.subtract, type, id, denied);
      case "arrow":
        for (const tuple of live(at, type, id, node.relation)) {
          const next = at.schema.types.get(tuple.subjectType)?.members.get(node.target);
          if (next !== undefined) visitMember(next, tuple.subjectId, into);
        }
        return;
      case "self":
        if (type === wanted.type && wanted.relation === "") into.add(id);
        return;
      case "nil":
        return;
    }
  };
  visitMember(start, startId, granted);
  return { granted, denied };
}

function* live(at: Snapshot, type: string, id: string, relation: string): Generator<Tuple> {
  const standing = at.tuples.at(type, id, relation);
  if (standing === undefined) return;
  for (const tuple of everyone(standing)) if (!expired(tuple, at.now)) yield tuple;
}

export function expandTree(at: Snapshot, member: Member, id: string, depth = 1): RelationTree {
  if (depth > MAX_DEPTH)
    throw invalid(
      `the tree is deeper than ${MAX_DEPTH} steps: look for a cycle among the relationships`,
    );
  const { type, name } = member;
  const resource = { type, id };
  const leaf = (subjects: RelationTree["subjects"]): RelationTree => ({
    resource,
    name,
    operation: "leaf",
    children: [],
    subjects,
  });
  const branch = (
    operation: "union" | "intersection" | "exclusion",
    children: RelationTree[],
  ): RelationTree => ({ resource, name, operation, children, subjects: [] });
  const expandNode = (node: Node): RelationTree => {
    switch (node.kind) {
      case "member":
        return expandTree(at, node.member, id, depth + 1);
      case "union":
      case "intersection":
        return branch(node.kind, node.children.map(expandNode));
      case "exclusion":
        return branch("exclusion", [expandNode(node.base), expandNode(node.subtract)]);
      case "arrow": {
        const targets = [...live(at, type, id, node.relation)].flatMap((tuple) => {
          const next = at.schema.types.get(tuple.subjectType)?.members.get(node.target);
          return next === undefined ? [] : [expandTree(at, next, tuple.subjectId, depth + 1)];
        });
        return branch(node.all ? "intersection" : "union", targets);
      }
      case "self":
        return leaf([resource]);
      case "nil":
        return leaf([]);
    }
  };
  if (member.allowed !== null) return leaf([...live(at, type, id, name)].map(subjectOf));
  const tree = expandNode(member.body);
  // A permission that equals another one is still a step of its own.
  return member.body.kind === "member" ? branch("union", [tree]) : tree;
}

/** One page of relationships, in the order of their keys. */
export function readPage(
  at: Snapshot,
  filter: RelationshipFilter,
  { limit, after }: { limit: number; after?: string },
): { items: Tuple[]; next: string | null } {
  const last = after === undefined ? "" : decodeCursor(after);
  const matches: Tuple[] = [];
  for (const tuple of at.tuples.matching(filter.resourceType, filter.resourceId))
    if (tuple.key > last && !expired(tuple, at.now) && fits(tuple, filter)) matches.push(tuple);
  matches.sort((a, b) => (a.key < b.key ? -1 : 1));
  const items = matches.slice(0, limit);
  const end = matches.length > limit ? items.at(-1) : undefined;
  return { items, next: end === undefined ? null : encodeCursor(end.key) };
}

const FIELDS = [
  "resourceType",
  "resourceId",
  "relation",
  "subjectType",
  "subjectId",
  "subjectRelation",
] as const;

const fits = (tuple: Tuple, filter: RelationshipFilter): boolean =>
  FIELDS.every((field) => filter[field] === undefined || filter[field] === tuple[field]);

const encodeCursor = (key: string): string => Buffer.from(key).toString("base64url");

function decodeCursor(cursor: string): string {
  const key = Buffer.from(cursor, "base64url").toString();
  if (key === "" || encodeCursor(key) !== cursor)
    throw invalid("`after` is no cursor: use the `next` of the page before");
  return key;
}
