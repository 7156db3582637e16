// Relationships on the wire: taken as text or in parts, given as both.
import { z } from "zod";
import type { JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type {
  Precondition,
  Relationship,
  RelationshipFilter,
  SubjectRef,
} from "../../../governance/relations/relation.ts";
import {
  parseObject,
  parsePattern,
  parseRelationship,
  parseSubject,
  relationshipText,
} from "../../../governance/relations/text.ts";
import { iso, jsonObject, moment, time, toMs } from "../shapes.ts";

const name = z.string().min(1).max(128);
const objectId = z.string().min(1).max(1024);
const objectParts = z.strictObject({ type: name, id: objectId });
const subjectParts = objectParts.extend({ relation: name.optional() });

/** Text becomes its parts; a fault names the field and how to write it. */
const parsed = <T>(parse: (text: string) => T, about: string) =>
  z
    .string()
    .max(16_384)
    .describe(about)
    .transform((text, check): T => {
      try {
        return parse(text);
      } catch (cause) {
        if (!(cause instanceof AppError)) throw cause;
        const { message, remedy = "" } = cause.fault;
        // The union around it then shows this fault and not its own.
        check.addIssue({ code: "custom", message: `${message}; ${remedy}`, continue: true });
        return z.NEVER;
      }
    });

export const object = z.union([parsed(parseObject, "tool:system/echo"), objectParts]);

export const subject = z.union([
  parsed(parseSubject, "user:ada, user:* or group:eng#member"),
  subjectParts.transform(({ relation, ...rest }): SubjectRef =>
    relation === undefined ? rest : { ...rest, relation },
  ),
]);

const relationshipParts = z.strictObject({
  resource: object,
  relation: name,
  subject,
  caveat: z.strictObject({ name, context: jsonObject.optional() }).optional(),
  expiresAt: moment.optional(),
});

export const relationship = z.union([
  parsed(parseRelationship, "tool:system/echo#executor@user:ada"),
  relationshipParts.transform(({ caveat, expiresAt, ...rest }): Relationship => ({
    ...rest,
    ...(caveat && {
      caveat: {
        name: caveat.name,
        ...(caveat.context && { context: caveat.context as JsonObject }),
      },
    }),
    ...(expiresAt !== undefined && { expiresAt: toMs(expiresAt, "end") }),
  })),
]);

const pattern = (example: string) => parsed(parsePattern, example);
const filterFields = {
  resource: pattern("tool or tool:system/echo").optional(),
  relation: name.optional(),
  subject: pattern("user, user:ada, group#member or group:eng#member").optional(),
};
const filter = z.strictObject(filterFields);

export const relationshipPage = z.strictObject({
  ...filterFields,
  limit: z.int().min(1).max(100).default(50),
  after: z.string().min(1).max(8_192).optional().describe("`next` of the page before"),
});

export const change = z.strictObject({
  operation: z
    .enum(["touch", "create", "delete"])
    .default("touch")
    .describe("touch writes either way, create fails when it is there"),
  relationship,
});

export const precondition = z.strictObject({
  operation: z.enum(["must_match", "must_not_match"]),
  filter: filter.refine((given) => Object.values(given).some((value) => value !== undefined), {
    message: "expected at least one of resource, relation, subject",
  }),
});

export function filterOf({
  resource,
  relation,
  subject: who,
}: z.output<typeof filter>): RelationshipFilter {
  return {
    ...(resource && {
      resourceType: resource.type,
      ...(resource.id !== undefined && { resourceId: resource.id }),
    }),
    ...(relation !== undefined && { relation }),
    ...(who && {
      subjectType: who.type,
      ...(who.id !== undefined && { subjectId: who.id }),
      ...(who.relation !== undefined && { subjectRelation: who.relation }),
    }),
  };
}

export const preconditionOf = (given: z.output<typeof precondition>): Precondition => ({
  operation: given.operation,
  filter: filterOf(given.filter),
});

const reference = z.object({ type: z.string(), id: z.string() });
export const subjectReference = reference.extend({ relation: z.string().optional() });

export const relationshipView = z.object({
  text: z.string().describe("tool:system/echo#executor@user:ada"),
  resource: reference,
  relation: z.string(),
  subject: subjectReference,
  caveat: z.object({ name: z.string(), context: jsonObject }).nullable(),
  expiresAt: time.nullable(),
});

export function viewOf(one: Relationship): z.input<typeof relationshipView> {
  const { resource, relation, subject: who, caveat, expiresAt } = one;
  return {
    text: relationshipText(one),
    resource: { ...resource },
    relation,
    subject: { ...who },
    caveat: caveat ? { name: caveat.name, context: { ...caveat.context } } : null,
    expiresAt: expiresAt === undefined ? null : iso(expiresAt),
  };
}
