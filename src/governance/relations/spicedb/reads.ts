// Everything that reads and is no check: lookups, the tree of an expansion, pages of relationships.
import type { Relations } from "../relation.ts";
import type { SpicedbClient } from "./client.ts";
import * as convert from "./convert.ts";
import type { Requests } from "./requests.ts";

/** The server's own limit of a page, less the one row that shows whether there is a next page. */
const MAX_PAGE = 999;

export function createReads(
  server: SpicedbClient,
  { fresh }: Requests,
): Pick<Relations, "lookupResources" | "lookupSubjects" | "expand" | "read"> {
  return {
    lookupResources: ({ type, permission, subject, context }) =>
      fresh(async ({ consistency }) => {
        const found = await server.lookupResources({
          consistency,
          resourceObjectType: type,
          permission,
          subject: convert.subjectMessage(subject),
          optionalLimit: 0,
          ...convert.contextMessage(context),
        });
        return convert.merged(found.map(convert.foundResource));
      }),
    lookupSubjects: ({ resource, permission, subjectType, subjectRelation = "", context }) =>
      fresh(async ({ consistency }) => {
        const found = await server.lookupSubjects({
          consistency,
          resource: convert.objectMessage(resource),
          permission,
          subjectObjectType: subjectType,
          optionalSubjectRelation: subjectRelation,
          optionalConcreteLimit: 0,
          wildcardOption: 0,
          ...convert.contextMessage(context),
        });
        return convert.merged(found.map(convert.foundSubject));
      }),
    expand: (resource, permission) =>
      fresh(async ({ consistency }) => {
        const asked = { consistency, resource: convert.objectMessage(resource), permission };
        const { treeRoot } = await server.expand(asked);
        if (!treeRoot) throw new Error("SpiceDB answered no tree");
        return convert.treeOf(treeRoot, { resource, name: permission });
      }),
    read: (filter, { limit, after }) =>
      fresh(async ({ consistency }) => {
        const size = Math.min(limit, MAX_PAGE);
        const cursor = after === undefined ? {} : { optionalCursor: { token: after } };
        // Without any condition the server reads only in bulk, in parts of a page.
        if (Object.values(filter).every((value) => value === undefined)) {
          const [part, more] = await server.readAll({
            consistency,
            optionalLimit: size,
            ...cursor,
          });
          const items = part?.relationships.map(convert.relationshipOf) ?? [];
          return { items, next: more ? (part?.afterResultCursor?.token ?? null) : null };
        }
        const relationshipFilter = convert.filterMessage(filter);
        const rows = await server.read({
          consistency,
          relationshipFilter,
          optionalLimit: size + 1,
          ...cursor,
        });
        const items = rows.slice(0, size).map((row) => convert.relationshipOf(row.relationship));
        return {
          items,
          next: rows.length > size ? (rows[size - 1]?.afterResultCursor?.token ?? null) : null,
        };
      }),
  };
}
