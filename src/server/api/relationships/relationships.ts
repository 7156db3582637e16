// Relationships: who may do what to which thing (C31, B07). Administrators only; every change is audited.
import { z } from "zod";
import type { JsonObject } from "../../../contract/call.ts";
import type {
  CheckResult,
  FoundEntry,
  FoundSubject,
  RelationTree,
} from "../../../governance/relations/relation.ts";
import { relationshipText } from "../../../governance/relations/text.ts";
import { endpoint } from "../endpoint.ts";
import { scopeOf } from "./scope.ts";
import {
  change,
  filterOf,
  object,
  precondition,
  preconditionOf,
  relationshipPage,
  relationshipView,
  subject,
  subjectReference,
  viewOf,
} from "./shapes.ts";
import { jsonObject } from "../shapes.ts";

const memberName = z.string().min(1).max(128);
const context = jsonObject.optional().describe("Values for caveats");
const has = z.enum(["yes", "no", "conditional"]);
const missing = z.array(z.string()).describe("Context that a caveat needs");

export const listRelationships = endpoint({
  name: "relationships.listRelationships",
  method: "GET",
  path: "/relationships",
  access: "admin",
  summary: "Relationships that are written down, by resource, relation and subject",
  input: relationshipPage,
  output: z.object({ items: z.array(relationshipView), next: z.string().nullable() }),
  async run({ limit, after, ...filter }, request) {
    const page = { limit, ...(after === undefined ? {} : { after }) };
    const scope = await scopeOf(request);
    const { items, next } = await request.doors.relations.read(filterOf(filter), page);
    return { items: (await scope.visible(items)).map(viewOf), next };
  },
});

export const writeRelationships = endpoint({
  name: "relationships.writeRelationships",
  method: "POST",
  path: "/relationships",
  access: "admin",
  summary: "Grant and revoke: all changes or none, effective before this answers",
  input: z.strictObject({
    changes: z.array(change).min(1).max(1000),
    preconditions: z.array(precondition).max(100).default([]),
  }),
  output: z.object({ revision: z.string(), changed: z.int() }),
  async run({ changes, preconditions }, request) {
    const { caller, doors } = request;
    const conditions = preconditions.map(preconditionOf);
    await (await scopeOf(request)).assertWritable(changes, conditions);
    const { revision } = await doors.relations.write(changes, conditions);
    await doors.audit("relations.changed", caller, {
      revision,
      changes: changes.map(
        ({ operation, relationship }) => `${operation} ${relationshipText(relationship)}`,
      ),
    });
    return { revision, changed: changes.length };
  },
});

export const checkRelationship = endpoint({
  name: "relationships.checkRelationship",
  method: "POST",
  path: "/relationships/check",
  access: "admin",
  summary: "Does the subject have the permission?",
  input: z.strictObject({ resource: object, permission: memberName, subject, context }),
  output: z.object({ has, missing }),
  async run({ context: values, ...question }, request) {
    const scope = await scopeOf(request);
    // Another tenant's user answers like one that does not exist.
    if (!(await scope.mayName(question.subject)) || !(await scope.mayName(question.resource)))
      return { has: "no" as const, missing: [] };
    return answerOf(await request.doors.relations.check({ ...question, ...contextOf(values) }));
  },
});

export const expandRelationship = endpoint({
  name: "relationships.expandRelationship",
  method: "POST",
  path: "/relationships/expand",
  access: "admin",
  summary: "Why: the expression behind a permission, with the subjects written down",
  input: z.strictObject({ resource: object, permission: memberName }),
  output: z.object({
    resource: z.object({ type: z.string(), id: z.string() }),
    name: z.string(),
    operation: z.enum(["union", "intersection", "exclusion", "leaf"]),
    subjects: z.array(subjectReference),
    children: z.array(jsonObject).describe("Nodes of the same form"),
  }),
  async run({ resource, permission }, request) {
    const scope = await scopeOf(request);
    return nodeOf(
      await scope.visibleTree(await request.doors.relations.expand(resource, permission)),
    );
  },
});

export const lookupResources = endpoint({
  name: "relationships.lookupResources",
  method: "POST",
  path: "/relationships/lookup-resources",
  access: "admin",
  summary: "All things of a type for which the subject has the permission",
  input: z.strictObject({ type: memberName, permission: memberName, subject, context }),
  output: z.object({ items: z.array(z.object({ id: z.string(), has, missing })) }),
  async run({ context: values, ...question }, request) {
    const scope = await scopeOf(request);
    if (!(await scope.mayName(question.subject))) return { items: [] };
    const found = await request.doors.relations.lookupResources({
      ...question,
      ...contextOf(values),
    });
    return { items: (await scope.visibleSubjects(question.type, found)).map(foundOf) };
  },
});

export const lookupSubjects = endpoint({
  name: "relationships.lookupSubjects",
  method: "POST",
  path: "/relationships/lookup-subjects",
  access: "admin",
  summary: "All subjects of a type that have the permission",
  input: z.strictObject({
    resource: object,
    permission: memberName,
    subjectType: memberName,
    subjectRelation: memberName.optional(),
    context,
  }),
  output: z.object({
    items: z.array(
      z.object({
        id: z.string(),
        has,
        missing,
        except: z.array(z.string()).describe("Of the wildcard *: who is left out"),
      }),
    ),
  }),
  async run({ context: values, subjectRelation, ...question }, request) {
    const scope = await scopeOf(request);
    if (!(await scope.mayName(question.resource))) return { items: [] };
    const found = await request.doors.relations.lookupSubjects({
      ...question,
      ...(subjectRelation === undefined ? {} : { subjectRelation }),
      ...contextOf(values),
    });
    const seen = await scope.visibleSubjects(question.subjectType, found);
    return { items: seen.map((one) => ({ ...foundOf(one), except: [...(one.except ?? [])] })) };
  },
});

export const getRelationSchema = endpoint({
  name: "relationships.getRelationSchema",
  method: "GET",
  path: "/relationships/schema",
  access: "admin",
  summary: "The schema in force, and the engine that holds it",
  input: z.strictObject({}),
  output: z.object({ engine: z.enum(["embedded", "spicedb"]), schema: z.string() }),
  async run(_input, { doors: { relations } }) {
    return { engine: relations.engine, schema: await relations.schema() };
  },
});

const contextOf = (values: Record<string, unknown> | undefined): { context?: JsonObject } =>
  values === undefined ? {} : { context: values as JsonObject };

const answerOf = ({ has: answer, missing: words = [] }: CheckResult) => ({
  has: answer,
  missing: [...words],
});
const foundOf = (found: FoundEntry | FoundSubject) => ({ id: found.id, ...answerOf(found) });

interface Node {
  resource: { type: string; id: string };
  name: string;
  operation: RelationTree["operation"];
  subjects: { type: string; id: string; relation?: string }[];
  children: Record<string, unknown>[];
}

function nodeOf({ resource, name, operation, subjects, children }: RelationTree): Node {
  return {
    resource: { ...resource },
    name,
    operation,
    subjects: subjects.map((one) => ({ ...one })),
    children: children.map((child) => ({ ...nodeOf(child) })),
  };
}
