// Relationships as people and SpiceDB write them:
// `tool:system/echo#executor@group:eng#member[office:{"net":"10.0.0.0/8"}]`.
import type { JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ObjectRef, Relationship, SubjectRef } from "./relation.ts";

const NAME = "[a-z][a-z0-9_]{1,62}[a-z0-9]";
const TYPE = `(?:[a-z][a-z0-9_]{1,61}[a-z0-9]/)*${NAME}`;
const ID = "[a-zA-Z0-9/_|\\-=+]{1,1024}";
const OBJECT = `(${TYPE}):(${ID})`;
/** `...` is SpiceDB's notation for "no relation". */
const SUBJECT = `(${TYPE}):(${ID}|\\*)(?:#(${NAME}|\\.\\.\\.))?`;

const WHOLE_ID = new RegExp(`^${ID}$`);
const WHOLE_OBJECT = new RegExp(`^${OBJECT}$`);
const WHOLE_SUBJECT = new RegExp(`^${SUBJECT}$`);
const WHOLE_PATTERN = new RegExp(`^(${TYPE})(?::(${ID}|\\*))?(?:#(${NAME}))?$`);
const WHOLE_RELATIONSHIP = new RegExp(
  `^${OBJECT}#(${NAME})@${SUBJECT}(?:\\[(${TYPE})(?::(\\{.*\\}))?\\])??(?:\\[expiration:([^\\]]+)\\])?$`,
  "s",
);
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** May this be the id of an object? Letters, digits and / _ | - = +; a wildcard is no id. */
export const isObjectId = (id: string): boolean => WHOLE_ID.test(id);

export function parseObject(text: string): ObjectRef {
  const [, type, id] = WHOLE_OBJECT.exec(text) ?? [];
  if (type === undefined || id === undefined)
    throw malformed(text, "an object", "tool:system/echo");
  return { type, id };
}

export function parseSubject(text: string): SubjectRef {
  const [, type, id, relation] = WHOLE_SUBJECT.exec(text) ?? [];
  if (type === undefined || id === undefined)
    throw malformed(text, "a subject", "user:ada, user:* or group:eng#member");
  return subject(type, id, relation);
}

/** Side of a filter: `tool`, `tool:system/echo`, `group#member`, `group:eng#member`. */
export function parsePattern(text: string): { type: string; id?: string; relation?: string } {
  const [, type, id, relation] = WHOLE_PATTERN.exec(text) ?? [];
  if (type === undefined)
    throw malformed(text, "a type or an object", "user, user:ada or group:eng#member");
  return { type, ...(id !== undefined && { id }), ...(relation !== undefined && { relation }) };
}

/** The same form asks (`tool:x#execute@user:ada`) and states; only a statement may carry a caveat or an end. */
export function parseRelationship(text: string): Relationship {
  const found = WHOLE_RELATIONSHIP.exec(text.trim());
  if (!found) throw malformed(text, "a relationship", "tool:system/echo#executor@user:ada");
  const [
    ,
    type = "",
    id = "",
    relation = "",
    subjectType = "",
    subjectId = "",
    subjectRelation,
    caveat,
    context,
    expiration,
  ] = found;
  return {
    resource: { type, id },
    relation,
    subject: subject(subjectType, subjectId, subjectRelation),
    ...(caveat === undefined ? {} : { caveat: { name: caveat, ...contextOf(context) } }),
    ...(expiration === undefined ? {} : { expiresAt: momentOf(expiration) }),
  };
}

export const objectText = ({ type, id }: ObjectRef): string => `${type}:${id}`;

export const subjectText = ({ type, id, relation }: SubjectRef): string =>
  relation === undefined ? `${type}:${id}` : `${type}:${id}#${relation}`;

export function relationshipText(one: Relationship): string {
  const { caveat, expiresAt } = one;
  const context = caveat?.context === undefined ? "" : `:${JSON.stringify(caveat.context)}`;
  return [
    `${objectText(one.resource)}#${one.relation}@${subjectText(one.subject)}`,
    ...(caveat === undefined ? [] : [`[${caveat.name}${context}]`]),
    ...(expiresAt === undefined ? [] : [`[expiration:${new Date(expiresAt).toISOString()}]`]),
  ].join("");
}

function subject(type: string, id: string, relation: string | undefined): SubjectRef {
  return relation === undefined || relation === "..." ? { type, id } : { type, id, relation };
}

function contextOf(text: string | undefined): { context?: JsonObject } {
  if (text === undefined) return {};
  try {
    return { context: JSON.parse(text) as JsonObject };
  } catch {
    throw malformed(text, "the context of a caveat as JSON", '[office:{"net":"10.0.0.0/8"}]');
  }
}

function momentOf(text: string): number {
  const at = MOMENT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw malformed(text, "a time with its zone", "[expiration:2030-01-31T08:00:00Z]");
  return at;
}

function malformed(text: string, expected: string, example: string): AppError {
  const shown = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  return new AppError(
    "BAD_REQUEST",
    "invalid_input",
    `expected ${expected}, got ${JSON.stringify(shown)}`,
    { remedy: `write it like ${example}` },
  );
}
