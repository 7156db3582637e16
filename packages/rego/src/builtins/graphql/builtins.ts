import { fromJson, toJson } from "../../values/json.ts";
import { RegoObject } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import { ANY, BOOLEAN, STRING, anyOf, objectOf, tupleOf } from "../../types/type.ts";
import { GraphqlError } from "./ast.ts";
import type { QueryDocument, SchemaDocument } from "./ast.ts";
import { decodeQuery, decodeSchema, toPlain } from "./decode.ts";
import { parseQuery } from "./parse-query.ts";
import { parseSchema } from "./parse-schema.ts";
import { buildSchema } from "./schema.ts";
import { Validator } from "./validate.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { arg, fail, fn, string, wrongType } from "../operands.ts";
import type { Args } from "../operands.ts";

/** Error text with the place in the GraphQL source. */
function describe(error: GraphqlError): string {
  if (error.at === undefined || error.at.line === 0) return `GraphQL parse error: ${error.message}`;
  return `${error.message} in GraphQL string at location ${error.at.line}:${error.at.column}`;
}

/** One error for all: the location of the first, the texts of each. */
function joined(errors: readonly GraphqlError[]): GraphqlError | undefined {
  const [first, ...rest] = errors;
  if (first === undefined) return undefined;
  const others = rest.map(
    ({ message, at }) => `\ninput:${at?.line ?? 0}:${at?.column ?? 0}: ${message}`,
  );
  return new GraphqlError(`${first.message}${others.join("")}`.replace(/\.$/, ""), first.at);
}

function queryOf(value: Value): QueryDocument {
  if (typeof value === "string") return parseQuery(value);
  return value instanceof RegoObject
    ? decodeQuery(toJson(value))
    : wrongType(0, value, "string", "object");
}

function schemaOf(value: Value): SchemaDocument {
  if (typeof value === "string") return parseSchema(value);
  return value instanceof RegoObject
    ? decodeSchema(toJson(value))
    : wrongType(1, value, "string", "object");
}

const shown = (doc: QueryDocument | SchemaDocument): Value => fromJson(toPlain(doc));

/** Syntax trees of query and schema; throws when they do not fit. */
function parseBoth(args: Args, ctx: BuiltinContext): [Value, Value] {
  const query = queryOf(arg(args, 1));
  const schemaDoc = schemaOf(arg(args, 2));
  ctx.tick(1000);
  const problem = joined(new Validator(checkedSchema(schemaDoc), query).run());
  if (problem !== undefined) throw problem;
  return [shown(query), shown(schemaDoc)];
}

function checkedSchema(doc: SchemaDocument): ReturnType<typeof buildSchema> {
  try {
    return buildSchema(doc);
  } catch (error) {
    if (!(error instanceof GraphqlError)) throw error;
    const { line, column } = error.at ?? { line: 0, column: 0 };
    const where = line === 0 ? "input:" : `input:${line}:${column}:`;
    throw new SchemaError(
      `Error in gqlparser SchemaDocument to Schema conversion: ${where} ${error.message}`,
    );
  }
}

/** Its text is complete: it does not get a place appended. */
class SchemaError extends GraphqlError {}

function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof SchemaError) return fail(error.message);
    if (error instanceof GraphqlError) return fail(describe(error));
    throw error;
  }
}

function holds(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof GraphqlError) return false;
    throw error;
  }
}

const isDocument = (value: Value): boolean =>
  typeof value === "string" || value instanceof RegoObject;

const OBJECT = objectOf(ANY, ANY);
const SOURCE = anyOf(STRING, OBJECT);

export const GRAPHQL: readonly Builtin[] = [
  fn("graphql.parse", [SOURCE, SOURCE], tupleOf(OBJECT, OBJECT), (a, ctx) =>
    guarded(() => parseBoth(a, ctx)),
  ),
  fn("graphql.parse_and_verify", [SOURCE, SOURCE], tupleOf(BOOLEAN, OBJECT, OBJECT), (a, ctx) => {
    const failed: Value = [false, RegoObject.EMPTY, RegoObject.EMPTY];
    if (!isDocument(arg(a, 1)) || !isDocument(arg(a, 2))) return failed;
    let both: [Value, Value] | undefined;
    return holds(() => (both = parseBoth(a, ctx))) && both !== undefined ? [true, ...both] : failed;
  }),
  fn("graphql.parse_query", [STRING], OBJECT, (a, ctx) => {
    const text = string(a, 1);
    ctx.tick(1 + (text.length >> 4));
    return guarded(() => shown(parseQuery(text)));
  }),
  fn("graphql.parse_schema", [STRING], OBJECT, (a, ctx) => {
    const text = string(a, 1);
    ctx.tick(1 + (text.length >> 4));
    return guarded(() => shown(parseSchema(text)));
  }),
  fn("graphql.is_valid", [SOURCE, SOURCE], BOOLEAN, (a, ctx) => {
    if (!isDocument(arg(a, 1)) || !isDocument(arg(a, 2))) return false;
    return holds(() => parseBoth(a, ctx));
  }),
  fn("graphql.schema_is_valid", [SOURCE], BOOLEAN, (a, ctx) => {
    const source = arg(a, 1);
    ctx.tick(1000);
    return isDocument(source) && holds(() => checkedSchema(schemaOf(source)));
  }),
];
