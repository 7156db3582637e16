// Syntax tree -> a schema that can be evaluated: names resolved, rules of the language checked as the real server does.
import type { Caveat } from "./caveat.ts";
import { schemaFault, type Position } from "./fault.ts";
import {
  parseSchema,
  type CaveatSyntax,
  type DefinitionSyntax,
  type ExpressionSyntax,
  type PermissionSyntax,
  type RelationSyntax,
  type SchemaSyntax,
  type SubjectTypeSyntax,
} from "./parse.ts";
import { resolvePartials } from "./partials.ts";
import { markRecursion, reachableTypes } from "./reach.ts";

export type AllowedSubject = SubjectTypeSyntax;

export type Node =
  | { readonly kind: "member"; readonly member: Member }
  | { readonly kind: "union" | "intersection"; readonly children: readonly Node[] }
  | { readonly kind: "exclusion"; readonly base: Node; readonly subtract: Node }
  | {
      readonly kind: "arrow";
      readonly relation: string;
      readonly target: string;
      readonly all: boolean;
    }
  | { readonly kind: "nil" | "self" };

/** A relation or a permission of a type. */
export interface Member {
  readonly type: string;
  readonly name: string;
  /** Of a relation: the subjects that it takes. Null for a permission. */
  readonly allowed: readonly AllowedSubject[] | null;
  /** Of a permission: its expression. */
  body: Node;
  /** Can it depend on itself, through other objects? Only such members are watched for cycles. */
  recursive: boolean;
}

export interface ObjectType {
  readonly name: string;
  readonly members: ReadonlyMap<string, Member>;
}

export interface Schema {
  readonly text: string;
  readonly types: ReadonlyMap<string, ObjectType>;
  readonly caveats: ReadonlyMap<string, Caveat>;
}

type MemberSyntax = RelationSyntax | PermissionSyntax;

const TYPE_NAME = /^([a-z][a-z0-9_]{1,61}[a-z0-9]\/)*[a-z][a-z0-9_]{1,62}[a-z0-9]$/;
const MEMBER_NAME = /^[a-z][a-z0-9_]{1,62}[a-z0-9]$/;
const NAME_RULE = "3 to 64 of a-z, 0-9 and _, beginning with a letter and not ending with _";

export async function compileSchema(text: string): Promise<Schema> {
  const syntax = parseSchema(text);
  const types = new Map<string, { name: string; members: Map<string, Member> }>();
  requireUniqueNames(text, syntax);
  const definitions = resolvePartials(text, syntax);
  const caveats = await compileCaveats(
    text,
    syntax.definitions.filter((one) => one.kind === "caveat"),
  );
  for (const { definition, members } of definitions)
    types.set(definition.name, {
      name: definition.name,
      members: declare(text, definition, members),
    });

  const schema: Schema = { text, types, caveats };
  for (const { definition, members } of definitions) {
    const declared = types.get(definition.name)?.members ?? new Map<string, Member>();
    for (const member of members) {
      const target = declared.get(member.name);
      if (target === undefined) continue;
      if (member.kind === "relation") requireAllowedSubjects(schema, member);
      else target.body = compileExpression(schema, declared, member.expression);
    }
  }
  requireNoHiddenWildcards(schema, definitions);
  markRecursion(schema);
  if (syntax.flags.has("typechecking")) requireAnnotatedTypes(schema, definitions);
  return schema;
}

/** Most schemas have none: the evaluator is loaded only for those that do. */
async function compileCaveats(
  text: string,
  found: readonly CaveatSyntax[],
): Promise<Map<string, Caveat>> {
  const caveats = new Map<string, Caveat>();
  if (found.length === 0) return caveats;
  const { caveatEnvironment, compileCaveat } = await import("./caveat.ts");
  const environment = caveatEnvironment();
  for (const one of found) caveats.set(one.name, compileCaveat(text, one, environment));
  return caveats;
}

export interface ResolvedDefinition {
  readonly definition: DefinitionSyntax;
  readonly members: readonly MemberSyntax[];
}

function requireUniqueNames(text: string, syntax: SchemaSyntax): void {
  const seen = new Set<string>();
  for (const { kind, name, at } of syntax.definitions) {
    if (!TYPE_NAME.test(name))
      throw schemaFault(text, at, `\`${name}\` cannot be a name: use ${NAME_RULE}`);
    if (seen.has(name)) throw schemaFault(text, at, `the name \`${name}\` is used twice`);
    if (kind !== "partial" || !seen.has(name)) seen.add(name);
  }
}

function declare(
  text: string,
  definition: DefinitionSyntax,
  members: readonly MemberSyntax[],
): Map<string, Member> {
  const declared = new Map<string, Member>();
  for (const member of members) {
    const { name, at } = member;
    if (!MEMBER_NAME.test(name))
      throw schemaFault(text, at, `\`${name}\` cannot be a name: use ${NAME_RULE}`);
    if (declared.has(name))
      throw schemaFault(text, at, `\`${definition.name}\` has two members \`${name}\``);
    declared.set(name, {
      type: definition.name,
      name,
      allowed: member.kind === "relation" ? member.allowed : null,
      body: { kind: "nil" },
      recursive: false,
    });
  }
  return declared;
}

/** The subject type as a schema writes it: two that read alike are the same. */
export function subjectTypeText(allowed: Omit<AllowedSubject, "at">): string {
  const who = allowed.wildcard ? ":*" : allowed.relation === "" ? "" : `#${allowed.relation}`;
  const traits = [allowed.caveat, allowed.expiration ? "expiration" : ""].filter(
    (one) => one !== "",
  );
  return `${allowed.type}${who}${traits.length > 0 ? ` with ${traits.join(" and ")}` : ""}`;
}

function requireAllowedSubjects(schema: Schema, relation: RelationSyntax): void {
  const { text } = schema;
  const seen = new Set<string>();
  for (const allowed of relation.allowed) {
    const written = subjectTypeText(allowed);
    if (seen.has(written))
      throw schemaFault(
        text,
        allowed.at,
        `\`${written}\` stands twice on relation \`${relation.name}\``,
      );
    seen.add(written);
    const type = schema.types.get(allowed.type);
    if (type === undefined)
      throw schemaFault(text, allowed.at, `there is no definition \`${allowed.type}\``);
    if (allowed.relation !== "" && !type.members.has(allowed.relation))
      throw schemaFault(
        text,
        allowed.at,
        `\`${allowed.type}\` has no relation or permission \`${allowed.relation}\``,
      );
    if (allowed.caveat !== "" && !schema.caveats.has(allowed.caveat)) {
      const hint =
        allowed.caveat === "expiration"
          ? "; for relationships that end, begin the schema with `use expiration`"
          : "";
      throw schemaFault(text, allowed.at, `there is no caveat \`${allowed.caveat}\`${hint}`);
    }
  }
}

function compileExpression(
  schema: Schema,
  members: ReadonlyMap<string, Member>,
  expression: ExpressionSyntax,
): Node {
  const { text } = schema;
  const find = (name: string, at: Position): Member => {
    const member = members.get(name);
    if (member === undefined)
      throw schemaFault(text, at, `there is no relation or permission \`${name}\` here`);
    return member;
  };
  const compile = (one: ExpressionSyntax): Node => {
    switch (one.kind) {
      case "reference":
        return { kind: "member", member: find(one.name, one.at) };
      case "arrow": {
        const { relation, target, all, at } = one;
        if (find(relation, at).allowed === null)
          throw schemaFault(
            text,
            at,
            `\`${relation}\` is a permission: left of an arrow stands a relation`,
          );
        return { kind: "arrow", relation, target, all };
      }
      case "exclusion":
        return { kind: "exclusion", base: compile(one.left), subtract: compile(one.right) };
      case "union":
      case "intersection":
        return { kind: one.kind, children: operands(one, one.kind).map(compile) };
      case "nil":
      case "self":
        return { kind: one.kind };
    }
  };
  return compile(expression);
}

/** `a + b + c` is one union of three. */
function operands(
  expression: ExpressionSyntax,
  kind: "union" | "intersection",
): ExpressionSyntax[] {
  if (expression.kind !== kind) return [expression];
  return [...operands(expression.left, kind), ...operands(expression.right, kind)];
}

/** A wildcard may be in a relation, but not as part of a set (`group#member`) nor left of an arrow. */
function requireNoHiddenWildcards(
  schema: Schema,
  definitions: readonly ResolvedDefinition[],
): void {
  const { text } = schema;
  for (const { definition, members } of definitions)
    for (const member of members) {
      if (member.kind === "permission") {
        for (const { relation, at } of arrows(member.expression))
          if (admitsWildcard(schema, definition.name, relation))
            throw schemaFault(
              text,
              at,
              `\`${relation}\` admits a wildcard: an arrow cannot follow it`,
            );
        continue;
      }
      for (const { at, type, relation } of member.allowed)
        // Within one definition the server lets it pass.
        if (relation !== "" && type !== definition.name && admitsWildcard(schema, type, relation))
          throw schemaFault(
            text,
            at,
            `\`${type}#${relation}\` admits a wildcard: it cannot be a subject`,
          );
    }
}

function* arrows(
  expression: ExpressionSyntax,
): Generator<Extract<ExpressionSyntax, { kind: "arrow" }>> {
  if (expression.kind === "arrow") yield expression;
  else if ("left" in expression) {
    yield* arrows(expression.left);
    yield* arrows(expression.right);
  }
}

function admitsWildcard(
  schema: Schema,
  type: string,
  name: string,
  seen = new Set<string>(),
): boolean {
  const key = `${type}#${name}`;
  if (seen.has(key)) return false;
  seen.add(key);
  const allowed = schema.types.get(type)?.members.get(name)?.allowed ?? [];
  return allowed.some(
    (one) =>
      one.wildcard || (one.relation !== "" && admitsWildcard(schema, one.type, one.relation, seen)),
  );
}

function requireAnnotatedTypes(schema: Schema, definitions: readonly ResolvedDefinition[]): void {
  for (const { definition, members } of definitions)
    for (const member of members) {
      if (member.kind === "relation" || member.annotated === null) continue;
      const target = schema.types.get(definition.name)?.members.get(member.name);
      for (const type of target === undefined ? [] : reachableTypes(schema, target))
        if (!member.annotated.includes(type))
          throw schemaFault(
            schema.text,
            member.at,
            `\`${member.name}\` can also hold for \`${type}\`, which its types leave out`,
          );
    }
}
