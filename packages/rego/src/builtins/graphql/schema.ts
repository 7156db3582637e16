// From a schema document to a checked schema.
import { GraphqlError, kindOf, typeName, typeText } from "./ast.ts";
import type {
  ArgumentDefinition,
  Definition,
  DefinitionKind,
  Directive,
  DirectiveDefinition,
  FieldDefinition,
  Position,
  SchemaDefinition,
  SchemaDocument,
  TypeRef,
} from "./ast.ts";
import { parseSchema } from "./parse-schema.ts";
import { PRELUDE } from "./prelude.ts";

export interface Schema {
  readonly types: ReadonlyMap<string, Definition>;
  readonly directives: ReadonlyMap<string, DirectiveDefinition>;
  /** Object types that a type may turn out to be. */
  readonly possible: ReadonlyMap<string, readonly string[]>;
  readonly roots: ReadonlyMap<string, string>;
}

const NOWHERE: Position = { line: 0, column: 0 };
const wrong = (message: string, at: Position): never => {
  throw new GraphqlError(message, at);
};

function mergeTypes(doc: SchemaDocument): Map<string, Definition> {
  const types = new Map<string, Definition>();
  for (const def of doc.Definitions) {
    if (types.has(def.Name)) wrong(`Cannot redeclare type ${def.Name}.`, def.at);
    types.set(def.Name, def);
  }
  for (const ext of doc.Extensions) {
    const base = types.get(ext.Name);
    if (base !== undefined && base.Kind !== ext.Kind) {
      wrong(
        `Cannot extend type ${ext.Name} because the base type is a ${base.Kind}, not ${ext.Kind}.`,
        ext.at,
      );
    }
    types.set(ext.Name, {
      ...(base ?? ext),
      Directives: [...(base?.Directives ?? []), ...ext.Directives],
      Interfaces: [...(base?.Interfaces ?? []), ...ext.Interfaces],
      Fields: [...(base?.Fields ?? []), ...ext.Fields],
      Types: [...(base?.Types ?? []), ...ext.Types],
      EnumValues: [...(base?.EnumValues ?? []), ...ext.EnumValues],
    });
  }
  return types;
}

const REDECLARABLE = ["include", "skip", "deprecated", "specifiedBy", "defer", "oneOf"];

function mergeDirectives(doc: SchemaDocument): Map<string, DirectiveDefinition> {
  const directives = new Map<string, DirectiveDefinition>();
  for (const def of doc.Directives) {
    if (directives.has(def.Name) && !REDECLARABLE.includes(def.Name)) {
      wrong(`Cannot redeclare directive ${def.Name}.`, def.at);
    }
    directives.set(def.Name, def);
  }
  return directives;
}

function possibleTypes(types: ReadonlyMap<string, Definition>): Map<string, string[]> {
  const possible = new Map<string, string[]>();
  const add = (name: string, type: string): void => {
    possible.set(name, [...(possible.get(name) ?? []), type]);
  };
  for (const def of types.values()) {
    if (def.Kind === "UNION") for (const type of def.Types) add(def.Name, type);
    for (const name of def.Interfaces) add(name, def.Name);
    if (def.Kind === "OBJECT" || def.Kind === "INPUT_OBJECT") add(def.Name, def.Name);
  }
  return possible;
}

class Checker {
  private readonly types: ReadonlyMap<string, Definition>;
  private readonly directives: ReadonlyMap<string, DirectiveDefinition>;
  private readonly possible: ReadonlyMap<string, readonly string[]>;

  constructor(schema: Omit<Schema, "roots">) {
    this.types = schema.types;
    this.directives = schema.directives;
    this.possible = schema.possible;
  }

  run(): void {
    const byName = <T extends { Name: string }>(items: Iterable<T>): T[] =>
      [...items].sort((a, b) => (a.Name < b.Name ? -1 : 1));
    for (const def of byName(this.types.values())) this.definition(def);
    this.circularInputs();
    for (const def of byName(this.directives.values())) {
      this.name(def.Name, def.at);
      this.args(def.Arguments, def);
    }
  }

  private name(name: string, at: Position): void {
    if (name.startsWith("__")) {
      wrong(
        `Name "${name}" must not begin with "__", which is reserved by GraphQL introspection.`,
        at,
      );
    }
  }

  private typeRef(type: TypeRef): Definition {
    return this.types.get(typeName(type)) ?? wrong(`Undefined type ${typeName(type)}.`, type.at);
  }

  private args(args: readonly ArgumentDefinition[], directive?: DirectiveDefinition): void {
    for (const arg of args) {
      this.name(arg.Name, arg.at);
      const def = this.typeRef(arg.Type);
      if (!isInput(def.Kind)) {
        wrong(
          `cannot use ${typeText(arg.Type)} as argument ${arg.Name} because ${def.Kind} is not a valid input type`,
          arg.at,
        );
      }
      this.use(arg.Directives, "ARGUMENT_DEFINITION", { current: directive, once: true });
    }
  }

  use(
    directives: readonly Directive[],
    location: string,
    options: { readonly current?: DirectiveDefinition | undefined; readonly once: boolean },
  ): void {
    const seen = new Set<string>();
    for (const use of directives) {
      this.name(use.Name, use.at);
      if (options.current?.Name === use.Name)
        wrong(`Directive ${use.Name} cannot refer to itself.`, use.at);
      const def =
        this.directives.get(use.Name) ?? wrong(`Undefined directive ${use.Name}.`, use.at);
      if (options.once && seen.has(use.Name) && !def.IsRepeatable) {
        wrong(`The directive ${use.Name} can only be used once at this location.`, use.at);
      }
      seen.add(use.Name);
      if (!def.Locations.includes(location)) {
        wrong(`Directive ${use.Name} is not applicable on ${location}.`, use.at);
      }
      this.directiveArguments(use, def);
    }
  }

  private directiveArguments(use: Directive, def: DirectiveDefinition): void {
    for (const arg of use.Arguments) {
      if (!def.Arguments.some(({ Name }) => Name === arg.Name)) {
        wrong(`Undefined argument ${arg.Name} for directive ${use.Name}.`, arg.at);
      }
    }
    for (const wanted of def.Arguments) {
      if (!wanted.Type.NonNull || wanted.DefaultValue !== undefined) continue;
      const given = use.Arguments.find(({ Name }) => Name === wanted.Name);
      if (given === undefined || kindOf(given.Value) === "null") {
        wrong(`Argument ${wanted.Name} for directive ${use.Name} cannot be null.`, use.at);
      }
    }
  }

  private definition(def: Definition): void {
    for (const field of def.Fields) {
      this.name(field.Name, field.at);
      this.typeRef(field.Type);
      this.args(field.Arguments);
      const location = def.Kind === "INPUT_OBJECT" ? "INPUT_FIELD_DEFINITION" : "FIELD_DEFINITION";
      this.use(field.Directives, location, { once: true });
    }
    for (const name of def.Types) {
      const member = this.types.get(name) ?? wrong(`Undefined type "${name}".`, def.at);
      if (member.Kind !== "OBJECT") wrong(`${def.Kind} type "${name}" must be OBJECT.`, def.at);
    }
    for (const name of def.Interfaces) this.implements(def, name);
    this.content(def);
    this.unique(def);
    if (!def.BuiltIn) this.name(def.Name, def.at);
    this.use(def.Directives, def.Kind, { once: false });
  }

  private content(def: Definition): void {
    switch (def.Kind) {
      case "OBJECT":
      case "INTERFACE":
        if (def.Fields.length === 0) {
          wrong(`${def.Kind} ${def.Name}: must define one or more fields.`, def.at);
        }
        this.fieldKinds(
          def,
          (kind) => kind !== "INPUT_OBJECT",
          "SCALAR, OBJECT, INTERFACE, UNION, ENUM",
        );
        return;
      case "INPUT_OBJECT":
        if (def.Fields.length === 0) {
          wrong(`${def.Kind} ${def.Name}: must define one or more input fields.`, def.at);
        }
        this.fieldKinds(def, isInput, "SCALAR, ENUM, INPUT_OBJECT");
        return;
      case "ENUM":
        if (def.EnumValues.length === 0) {
          wrong(`${def.Kind} ${def.Name}: must define one or more unique enum values.`, def.at);
        }
        for (const value of def.EnumValues) {
          if (["true", "false", "null"].includes(value.Name)) {
            wrong(`${def.Kind} ${def.Name}: non-enum value ${value.Name}.`, def.at);
          }
          this.use(value.Directives, "ENUM_VALUE", { once: true });
        }
        return;
      case "SCALAR":
      case "UNION":
    }
  }

  private fieldKinds(
    def: Definition,
    allowed: (kind: DefinitionKind) => boolean,
    list: string,
  ): void {
    for (const field of def.Fields) {
      const type = this.types.get(typeName(field.Type));
      if (type !== undefined && !allowed(type.Kind)) {
        wrong(`${def.Kind} ${def.Name}: field must be one of ${list}.`, field.at);
      }
    }
  }

  private unique(def: Definition): void {
    const seen = new Set<string>();
    for (const field of def.Fields) {
      if (seen.has(field.Name))
        wrong(`Field ${def.Name}.${field.Name} can only be defined once.`, field.at);
      seen.add(field.Name);
    }
    const values = new Set<string>();
    for (const value of def.EnumValues) {
      if (values.has(value.Name))
        wrong(`Enum value ${def.Name}.${value.Name} can only be defined once.`, value.at);
      values.add(value.Name);
    }
    const repeated = def.Types.find((type, i) => def.Types.indexOf(type) !== i);
    if (repeated !== undefined)
      wrong(`Union type ${def.Name} can only include type ${repeated} once.`, def.at);
  }

  private implements(def: Definition, name: string): void {
    const parent = this.types.get(name) ?? wrong(`Undefined type "${name}".`, def.at);
    if (parent.Kind !== "INTERFACE")
      wrong(`"${name}" is a non interface type ${parent.Kind}.`, def.at);
    for (const wanted of parent.Fields) {
      const found =
        def.Fields.find((field) => field.Name === wanted.Name) ??
        wrong(
          `For ${def.Name} to implement ${name} it must have a field called ${wanted.Name}.`,
          def.at,
        );
      if (!this.covariant(wanted.Type, found.Type)) {
        wrong(
          `For ${def.Name} to implement ${name} the field ${wanted.Name} must have type ${typeText(wanted.Type)}.`,
          found.at,
        );
      }
      this.sameArguments(`For ${def.Name} to implement ${name}`, wanted, found);
    }
    for (const above of parent.Interfaces) {
      if (def.Interfaces.includes(above)) continue;
      if (above === def.Name) {
        wrong(
          `Type ${def.Name} cannot implement ${name} because it would create a circular reference.`,
          def.at,
        );
      }
      wrong(
        `Type ${def.Name} must implement ${above} because it is implemented by ${name}.`,
        def.at,
      );
    }
  }

  private sameArguments(why: string, wanted: FieldDefinition, found: FieldDefinition): void {
    const same = `${why} the field ${wanted.Name} must have the same arguments but`;
    for (const arg of wanted.Arguments) {
      const own =
        found.Arguments.find((other) => other.Name === arg.Name) ??
        wrong(`${same} it is missing ${arg.Name}.`, found.at);
      if (!isCompatible(arg.Type, own.Type))
        wrong(`${same} ${arg.Name} has the wrong type.`, own.at);
    }
    for (const own of found.Arguments) {
      const extra = !wanted.Arguments.some((arg) => arg.Name === own.Name);
      if (extra && own.Type.NonNull && own.DefaultValue === undefined) {
        wrong(
          `${why} any additional arguments on ${found.Name} must be optional or have a default value but ${own.Name} is required.`,
          own.at,
        );
      }
    }
  }

  private covariant(required: TypeRef, actual: TypeRef): boolean {
    if (required.NonNull && !actual.NonNull) return false;
    if (required.NamedType !== "") {
      return (
        required.NamedType === actual.NamedType ||
        (this.possible.get(required.NamedType) ?? []).includes(actual.NamedType)
      );
    }
    if (required.Elem === undefined || actual.Elem === undefined) return false;
    return this.covariant(required.Elem, actual.Elem);
  }

  /** An input that needs itself can never be written down. */
  private circularInputs(): void {
    const done = new Set<string>();
    const visit = (def: Definition, path: readonly string[]): void => {
      if (path.includes(def.Name)) {
        wrong(
          `Cannot reference Input Object "${def.Name}" within itself through a series of non-null fields`,
          def.at,
        );
      }
      if (done.has(def.Name)) return;
      for (const field of def.Fields) {
        const type = field.Type.NonNull ? this.types.get(field.Type.NamedType) : undefined;
        if (type?.Kind === "INPUT_OBJECT") visit(type, [...path, def.Name]);
      }
      done.add(def.Name);
    };
    for (const def of this.types.values()) if (def.Kind === "INPUT_OBJECT") visit(def, []);
  }
}

const isInput = (kind: DefinitionKind): boolean =>
  kind === "SCALAR" || kind === "ENUM" || kind === "INPUT_OBJECT";

/** Whether a value of type `a` may be used where `b` is wanted. */
export function isCompatible(a: TypeRef, b: TypeRef): boolean {
  if (a.NamedType !== b.NamedType) return false;
  if (a.Elem !== undefined && (b.Elem === undefined || !isCompatible(a.Elem, b.Elem))) return false;
  return !b.NonNull || a.NonNull;
}

function rootTypes(
  doc: SchemaDocument,
  types: ReadonlyMap<string, Definition>,
  checker: Checker,
): Map<string, string> {
  if (doc.Schema.length > 1) {
    wrong(
      "Cannot have multiple schema entry points, consider schema extensions instead.",
      doc.Schema[1]?.at ?? NOWHERE,
    );
  }
  const roots = new Map<string, string>();
  const add = (schema: SchemaDefinition): void => {
    for (const { Operation, Type, at } of schema.OperationTypes) {
      if (!types.has(Type)) {
        wrong(`Schema root ${Operation} refers to a type ${Type} that does not exist.`, at);
      }
      roots.set(Operation, Type);
    }
    checker.use(schema.Directives, "SCHEMA", { once: true });
  };
  for (const schema of [...doc.Schema, ...doc.SchemaExtension]) add(schema);
  return roots;
}

const DEFAULT_ROOTS = {
  query: "Query",
  mutation: "Mutation",
  subscription: "Subscription",
} as const;

const introspection = (
  name: string,
  type: TypeRef,
  args: readonly ArgumentDefinition[],
): FieldDefinition => ({
  Description: "",
  Name: name,
  Arguments: args,
  Type: type,
  Directives: [],
  at: NOWHERE,
});

const named = (name: string, nonNull: boolean): TypeRef => ({
  NamedType: name,
  NonNull: nonNull,
  at: NOWHERE,
});

/** Checks a document together with the built-in types. */
export function buildSchema(source: SchemaDocument): Schema {
  const prelude = parseSchema(PRELUDE, true);
  const doc: SchemaDocument = {
    Schema: source.Schema,
    SchemaExtension: source.SchemaExtension,
    Directives: [...prelude.Directives, ...source.Directives],
    Definitions: [...prelude.Definitions, ...source.Definitions],
    Extensions: source.Extensions,
  };
  const types = mergeTypes(doc);
  const directives = mergeDirectives(doc);
  const possible = possibleTypes(types);
  const checker = new Checker({ types, directives, possible });
  const roots = rootTypes(doc, types, checker);
  checker.run();
  if (doc.Schema.length === 0) {
    for (const [operation, name] of Object.entries(DEFAULT_ROOTS)) {
      if (!roots.has(operation) && types.has(name)) roots.set(operation, name);
    }
  }
  const query = types.get(roots.get("query") ?? "");
  if (query !== undefined) {
    const name = { ...introspection("name", named("String", true), []) };
    types.set(query.Name, {
      ...query,
      Fields: [
        ...query.Fields,
        introspection("__schema", named("__Schema", true), []),
        introspection("__type", named("__Type", false), [name]),
      ],
    });
  }
  return { types, directives, possible, roots };
}
