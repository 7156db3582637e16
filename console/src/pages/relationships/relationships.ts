import { api, type Outputs } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { usePages } from "../../api/query.ts";
import type { RelationshipsSearch } from "./routes.ts";

export type Relationship = Outputs["relationships"]["listRelationships"]["items"][number];
export type Reference = Relationship["subject"];
export const NOUN = "relationships";

export const textOfReference = ({ type, id, relation }: Reference): string =>
  relation === undefined ? `${type}:${id}` : `${type}:${id}#${relation}`;

type Filters = Pick<RelationshipsSearch, "resource" | "relation" | "subject">;

export const filtersOf = ({ resource, relation, subject }: RelationshipsSearch): Filters => ({
  ...(resource === undefined ? {} : { resource }),
  ...(relation === undefined ? {} : { relation }),
  ...(subject === undefined ? {} : { subject }),
});

const PATTERN = /^[a-z][a-z0-9_/]*(?::(?:[a-zA-Z0-9/_|\-=+]+|\*))?(?:#[a-z][a-z0-9_]*)?$/;

/** Why a filter cannot be asked; undefined: it can. */
export function filterFault(name: keyof Filters, text: string): string | undefined {
  if (text.trim() === "" || name === "relation" || PATTERN.test(text.trim())) return undefined;
  return name === "resource"
    ? "expected a type or a thing, like tool or tool:system/echo"
    : "expected a type or a subject, like user, user:ada or group:eng#member";
}

const canBeAsked = (filters: Filters): boolean =>
  Object.entries(filters).every(
    ([name, text]) => filterFault(name as keyof Filters, text) === undefined,
  );

export const useRelationships = (filters: Filters, limit: number) =>
  usePages([NOUN, "list", filters, limit], (after, signal) =>
    canBeAsked(filters)
      ? api.relationships.listRelationships.query({ ...filters, limit, ...after }, { signal })
      : Promise.resolve({ items: [], next: null }),
  );

/** The first fault of a field, by the end of its path; else undefined. */
export function faultOf(cause: unknown, field: string): string | undefined {
  if (cause === null || cause === undefined) return undefined;
  const { errors = [] } = failureOf(cause);
  return errors.find(({ path }) => path === `/${field}` || path.endsWith(`/${field}`))?.message;
}
