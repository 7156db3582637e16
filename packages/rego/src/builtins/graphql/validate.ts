// Whether a query fits a schema. One walk collects every violation; the first in order is reported.
import { GraphqlError, isField, isInline, kindOf, typeName, typeText } from "./ast.ts";
import type {
  Argument,
  ArgumentDefinition,
  Definition,
  Directive,
  Field,
  FieldDefinition,
  Operation,
  Position,
  QueryDocument,
  Selection,
  TypeRef,
  ValueNode,
  VariableDefinition,
} from "./ast.ts";
import { checkOverlaps } from "./overlap.ts";
import type { Schema } from "./schema.ts";
import { checkValue } from "./values.ts";
import type { Expected } from "./values.ts";

const isLeaf = (def: Definition): boolean => def.Kind === "SCALAR" || def.Kind === "ENUM";
const isComposite = (def: Definition): boolean =>
  def.Kind === "OBJECT" || def.Kind === "INTERFACE" || def.Kind === "UNION";

/** Introspection of introspection of introspection has no use but to cost. */
const MAX_INTROSPECTION_DEPTH = 3;
const INTROSPECTED_LISTS = ["fields", "interfaces", "possibleTypes", "inputFields"];

const TYPENAME: FieldDefinition = {
  Description: "",
  Name: "__typename",
  Arguments: [],
  Type: { NamedType: "String", NonNull: false, at: { line: 0, column: 0 } },
  Directives: [],
  at: { line: 0, column: 0 },
};

function repeated<T>(items: readonly T[], key: (item: T) => string): T | undefined {
  const seen = new Set<string>();
  return items.find((item) => {
    const name = key(item);
    const again = seen.has(name);
    seen.add(name);
    return again;
  });
}

export class Validator {
  private readonly schema: Schema;
  private readonly doc: QueryDocument;
  private readonly errors: GraphqlError[] = [];
  private readonly usedFragments = new Set<string>();
  private variables: ReadonlyMap<string, VariableDefinition> | undefined;
  private usedVariables = new Set<string>();
  private visited = new Set<string>();

  constructor(schema: Schema, doc: QueryDocument) {
    this.schema = schema;
    this.doc = doc;
  }

  run(): readonly GraphqlError[] {
    for (const operation of this.doc.Operations) this.operation(operation);
    this.variables = undefined;
    for (const fragment of this.doc.Fragments) {
      this.visited = new Set();
      const def = this.schema.types.get(fragment.TypeCondition);
      this.directives(fragment.Directives, "FRAGMENT_DEFINITION");
      this.selections(def, fragment.SelectionSet);
      if (def === undefined) this.report(`Unknown type "${fragment.TypeCondition}".`, fragment.at);
      else if (!isComposite(def)) {
        this.report(
          `Fragment "${fragment.Name}" cannot condition on non composite type "${def.Name}".`,
          fragment.at,
        );
      }
      if (!this.usedFragments.has(fragment.Name)) {
        this.report(`Fragment "${fragment.Name}" is never used.`, fragment.at);
      }
    }
    this.names();
    this.cycles();
    if (this.errors.length === 0)
      checkOverlaps(this.schema, this.doc, (message, at) => {
        this.report(message, at);
      });
    return this.errors;
  }

  private report(message: string, at: Position): void {
    this.errors.push(new GraphqlError(message, at));
  }

  private names(): void {
    const { Operations, Fragments } = this.doc;
    const anonymous = Operations.find((operation) => operation.Name === "");
    if (anonymous !== undefined && Operations.length > 1) {
      this.report("This anonymous operation must be the only defined operation.", anonymous.at);
    }
    const operation = repeated(
      Operations.filter(({ Name }) => Name !== ""),
      ({ Name }) => Name,
    );
    if (operation !== undefined) {
      this.report(`There can be only one operation named "${operation.Name}".`, operation.at);
    }
    const fragment = repeated(Fragments, ({ Name }) => Name);
    if (fragment !== undefined)
      this.report(`There can be only one fragment named "${fragment.Name}".`, fragment.at);
  }

  private cycles(): void {
    const spreads = (set: readonly Selection[]): string[] =>
      set.flatMap((node) =>
        isField(node) || isInline(node) ? spreads(node.SelectionSet) : [node.Name],
      );
    const edges = new Map(this.doc.Fragments.map((f) => [f.Name, spreads(f.SelectionSet)]));
    const state = new Map<string, "open" | "done">();
    const visit = (name: string): boolean => {
      if (state.get(name) === "open") return true;
      if (state.get(name) === "done") return false;
      state.set(name, "open");
      const found = (edges.get(name) ?? []).some(visit);
      state.set(name, "done");
      return found;
    };
    for (const fragment of this.doc.Fragments) {
      if (visit(fragment.Name))
        this.report(`Cannot spread fragment "${fragment.Name}" within itself.`, fragment.at);
    }
  }

  private operation(operation: Operation): void {
    this.visited = new Set();
    this.usedVariables = new Set();
    this.variables = new Map(operation.VariableDefinitions.map((v) => [v.Variable, v]));
    const again = repeated(operation.VariableDefinitions, (v) => v.Variable);
    if (again !== undefined)
      this.report(`There can be only one variable named "$${again.Variable}".`, again.at);
    for (const variable of operation.VariableDefinitions) this.variable(variable);
    const kind = operation.Operation === "" ? "query" : operation.Operation;
    const root = this.schema.types.get(this.schema.roots.get(kind) ?? "");
    this.directives(operation.Directives, kind.toUpperCase());
    this.selections(root, operation.SelectionSet);
    if (root === undefined)
      this.report(`Schema does not support operation type "${kind}"`, operation.at);
    if (kind === "subscription") this.subscription(operation);
    for (const variable of operation.VariableDefinitions) {
      if (this.usedVariables.has(variable.Variable)) continue;
      const where = operation.Name === "" ? "" : ` in operation "${operation.Name}"`;
      this.report(`Variable "$${variable.Variable}" is never used${where}.`, variable.at);
    }
  }

  private variable(variable: VariableDefinition): void {
    const name = typeName(variable.Type);
    const def = this.schema.types.get(name);
    if (def === undefined) this.report(`Unknown type "${name}".`, variable.at);
    else if (isComposite(def)) {
      this.report(
        `Variable "$${variable.Variable}" cannot be non-input type "${typeText(variable.Type)}".`,
        variable.at,
      );
    }
    if (variable.DefaultValue !== undefined) {
      this.value(variable.DefaultValue, { type: variable.Type, hasDefault: false });
    }
    this.directives(variable.Directives, "VARIABLE_DEFINITION");
  }

  private subscription(operation: Operation): void {
    const top = new Map<string, Field>();
    const collect = (set: readonly Selection[], seen: ReadonlySet<string>): void => {
      for (const node of set) {
        if (isField(node)) top.set(node.Alias, node);
        else if (isInline(node)) collect(node.SelectionSet, seen);
        else if (!seen.has(node.Name)) {
          const fragment = this.doc.Fragments.find(({ Name }) => Name === node.Name);
          if (fragment !== undefined) collect(fragment.SelectionSet, new Set([...seen, node.Name]));
        }
      }
    };
    collect(operation.SelectionSet, new Set());
    const name =
      operation.Name === "" ? "Anonymous Subscription" : `Subscription "${operation.Name}"`;
    if (top.size > 1) this.report(`${name} must select only one top level field.`, operation.at);
    for (const field of top.values()) {
      if (field.Name.startsWith("__")) {
        this.report(`${name} must not select an introspection top level field.`, field.at);
      }
    }
  }

  private directives(directives: readonly Directive[], location: string): void {
    for (const use of directives) {
      const def = this.schema.directives.get(use.Name);
      this.args(use.Arguments, def?.Arguments);
      if (def === undefined) {
        this.report(`Unknown directive "@${use.Name}".`, use.at);
        continue;
      }
      if (!def.Locations.includes(location)) {
        this.report(`Directive "@${use.Name}" may not be used on ${location}.`, use.at);
      }
      this.required(`Directive "@${use.Name}"`, def.Arguments, use.Arguments, use.at);
      for (const arg of use.Arguments) {
        if (!def.Arguments.some(({ Name }) => Name === arg.Name)) {
          this.report(`Unknown argument "${arg.Name}" on directive "@${use.Name}".`, use.at);
        }
      }
    }
    const unique = directives.filter(
      ({ Name }) => this.schema.directives.get(Name)?.IsRepeatable !== true,
    );
    const again = repeated(unique, ({ Name }) => Name);
    if (again !== undefined) {
      this.report(
        `The directive "@${again.Name}" can only be used once at this location.`,
        again.at,
      );
    }
  }

  private required(
    owner: string,
    wanted: readonly ArgumentDefinition[],
    given: readonly Argument[],
    at: Position,
  ): void {
    for (const def of wanted) {
      if (!def.Type.NonNull || def.DefaultValue !== undefined) continue;
      if (given.some(({ Name }) => Name === def.Name)) continue;
      this.report(
        `${owner} argument "${def.Name}" of type "${typeText(def.Type)}" is required, but it was not provided.`,
        at,
      );
    }
  }

  private args(
    given: readonly Argument[],
    wanted: readonly ArgumentDefinition[] | undefined,
  ): void {
    for (const arg of given) {
      const def = wanted?.find(({ Name }) => Name === arg.Name);
      this.value(arg.Value, def === undefined ? undefined : expectedOf(def));
    }
    const again = repeated(given, ({ Name }) => Name);
    if (again !== undefined)
      this.report(`There can be only one argument named "${again.Name}".`, again.at);
  }

  private value(value: ValueNode, expected: Expected | undefined): void {
    checkValue(value, expected, {
      types: this.schema.types,
      variables: this.variables,
      used: this.usedVariables,
      report: (message, at) => {
        this.report(message, at);
      },
    });
  }

  private selections(parent: Definition | undefined, set: readonly Selection[], depth = 0): void {
    for (const node of set) {
      if (isField(node)) this.field(parent, node, depth);
      else if (isInline(node)) {
        const known = this.schema.types.get(node.TypeCondition);
        const next = node.TypeCondition === "" ? parent : known;
        this.directives(node.Directives, "INLINE_FRAGMENT");
        this.selections(next, node.SelectionSet, depth);
        if (node.TypeCondition !== "" && known === undefined) {
          this.report(`Unknown type "${node.TypeCondition}".`, node.at);
        } else if (known !== undefined && !isComposite(known)) {
          this.report(`Fragment cannot condition on non composite type "${known.Name}".`, node.at);
        }
        this.spreadable(parent, next, node.at, "Fragment");
      } else this.spread(parent, node.Name, node.Directives, node.at);
    }
  }

  private spread(
    parent: Definition | undefined,
    name: string,
    directives: readonly Directive[],
    at: Position,
  ): void {
    const fragment = this.doc.Fragments.find(({ Name }) => Name === name);
    this.directives(directives, "FRAGMENT_SPREAD");
    if (fragment === undefined) {
      this.report(`Unknown fragment "${name}".`, at);
      return;
    }
    this.usedFragments.add(name);
    const next = this.schema.types.get(fragment.TypeCondition);
    if (!this.visited.has(name)) {
      this.visited.add(name);
      this.selections(next, fragment.SelectionSet);
    }
    this.spreadable(parent, next, at, `Fragment "${name}"`);
  }

  /** Some object type must be both what is there and what the fragment wants. */
  private spreadable(
    parent: Definition | undefined,
    wanted: Definition | undefined,
    at: Position,
    what: string,
  ): void {
    if (parent === undefined || wanted === undefined || !isComposite(wanted)) return;
    const own = this.schema.possible.get(parent.Name) ?? [];
    const other = this.schema.possible.get(wanted.Name) ?? [];
    if (parent.Name === wanted.Name || own.some((name) => other.includes(name))) return;
    this.report(
      `${what} cannot be spread here as objects of type "${parent.Name}" can never be of type "${wanted.Name}".`,
      at,
    );
  }

  private field(parent: Definition | undefined, field: Field, depth: number): void {
    const def =
      field.Name === "__typename"
        ? TYPENAME
        : parent?.Fields.find(({ Name }) => Name === field.Name);
    const type = def === undefined ? undefined : this.schema.types.get(typeName(def.Type));
    this.args(field.Arguments, def?.Arguments);
    this.directives(field.Directives, "FIELD");
    const deeper =
      parent?.Name === "__Type" && INTROSPECTED_LISTS.includes(field.Name) ? depth + 1 : depth;
    if (deeper >= MAX_INTROSPECTION_DEPTH)
      this.report("Maximum introspection depth exceeded", field.at);
    else this.selections(type, field.SelectionSet, deeper);
    if (def === undefined) {
      if (parent !== undefined)
        this.report(`Cannot query field "${field.Name}" on type "${parent.Name}".`, field.at);
      return;
    }
    this.fieldArguments(parent, field, def);
    if (type !== undefined) this.leaf(field, def.Type, type);
  }

  private fieldArguments(parent: Definition | undefined, field: Field, def: FieldDefinition): void {
    for (const arg of field.Arguments) {
      if (!def.Arguments.some(({ Name }) => Name === arg.Name)) {
        this.report(
          `Unknown argument "${arg.Name}" on field "${parent?.Name ?? ""}.${field.Name}".`,
          field.at,
        );
      }
    }
    this.required(`Field "${field.Name}"`, def.Arguments, field.Arguments, field.at);
  }

  private leaf(field: Field, type: TypeRef, def: Definition): void {
    if (isLeaf(def) && field.SelectionSet.length > 0) {
      this.report(
        `Field "${field.Name}" must not have a selection since type "${def.Name}" has no subfields.`,
        field.at,
      );
    }
    if (!isLeaf(def) && field.SelectionSet.length === 0) {
      this.report(
        `Field "${field.Name}" of type "${typeText(type)}" must have a selection of subfields. Did you mean "${field.Name} { ... }"?`,
        field.at,
      );
    }
  }
}

const expectedOf = (def: ArgumentDefinition): Expected => ({
  type: def.Type,
  hasDefault: def.DefaultValue !== undefined && kindOf(def.DefaultValue) !== "null",
});
