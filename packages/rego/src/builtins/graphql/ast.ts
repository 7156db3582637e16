// GraphQL documents. Names are those of the JSON that OPA shows, so the tree is its own JSON form.

export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface CommentGroup {
  readonly List: readonly { readonly Value: string }[];
}

/** Every node remembers where it was; the place is no part of its JSON. */
interface Located {
  readonly at: Position;
}

export interface TypeRef extends Located {
  readonly NamedType: string;
  readonly Elem?: TypeRef;
  readonly NonNull: boolean;
}

/** In the order of the numbers OPA shows. */
export const VALUE_KINDS = [
  "variable",
  "int",
  "float",
  "string",
  "block",
  "boolean",
  "null",
  "enum",
  "list",
  "object",
] as const;
export type ValueKind = (typeof VALUE_KINDS)[number];

export interface ValueNode extends Located {
  readonly Raw: string;
  readonly Children: readonly ChildValue[];
  readonly Kind: number;
  readonly Comment?: CommentGroup | undefined;
  readonly ExpectedTypeHasDefault: boolean;
}

export interface ChildValue extends Located {
  readonly Name: string;
  readonly Value: ValueNode;
}

export const kindOf = (value: ValueNode): ValueKind => VALUE_KINDS[value.Kind] ?? "null";

export interface Argument extends Located {
  readonly Name: string;
  readonly Value: ValueNode;
  readonly Comment?: CommentGroup | undefined;
}

export interface Directive extends Located {
  readonly Name: string;
  readonly Arguments: readonly Argument[];
  readonly Location: string;
}

export interface Field extends Located {
  readonly Alias: string;
  readonly Name: string;
  readonly Arguments: readonly Argument[];
  readonly Directives: readonly Directive[];
  readonly SelectionSet: readonly Selection[];
  readonly Comment?: CommentGroup | undefined;
}

export interface FragmentSpread extends Located {
  readonly Name: string;
  readonly Directives: readonly Directive[];
  readonly Comment?: CommentGroup | undefined;
}

export interface InlineFragment extends Located {
  readonly TypeCondition: string;
  readonly Directives: readonly Directive[];
  readonly SelectionSet: readonly Selection[];
  readonly Comment?: CommentGroup | undefined;
}

export type Selection = Field | FragmentSpread | InlineFragment;

export const isField = (node: Selection): node is Field => "Alias" in node;
export const isInline = (node: Selection): node is InlineFragment =>
  !("Alias" in node) && "TypeCondition" in node;

export interface VariableDefinition extends Located {
  readonly Variable: string;
  readonly Type: TypeRef;
  readonly DefaultValue?: ValueNode;
  readonly Directives: readonly Directive[];
  readonly Used: boolean;
  readonly Comment?: CommentGroup | undefined;
}

export interface Operation extends Located {
  readonly Operation: string;
  readonly Name: string;
  readonly VariableDefinitions: readonly VariableDefinition[];
  readonly Directives: readonly Directive[];
  readonly SelectionSet: readonly Selection[];
  readonly Comment?: CommentGroup | undefined;
}

export interface Fragment extends Located {
  readonly Name: string;
  readonly VariableDefinition: readonly VariableDefinition[];
  readonly TypeCondition: string;
  readonly Directives: readonly Directive[];
  readonly SelectionSet: readonly Selection[];
  readonly Comment?: CommentGroup | undefined;
}

export interface QueryDocument {
  readonly Operations: readonly Operation[];
  readonly Fragments: readonly Fragment[];
}

export type DefinitionKind = "SCALAR" | "OBJECT" | "INTERFACE" | "UNION" | "ENUM" | "INPUT_OBJECT";

interface Described extends Located {
  readonly Description: string;
  readonly Name: string;
  readonly BeforeDescriptionComment?: CommentGroup | undefined;
  readonly AfterDescriptionComment?: CommentGroup | undefined;
}

export interface ArgumentDefinition extends Described {
  readonly DefaultValue?: ValueNode;
  readonly Type: TypeRef;
  readonly Directives: readonly Directive[];
}

export interface FieldDefinition extends ArgumentDefinition {
  readonly Arguments: readonly ArgumentDefinition[];
}

export interface EnumValueDefinition extends Described {
  readonly Directives: readonly Directive[];
}

export interface Definition extends Described {
  readonly Kind: DefinitionKind;
  readonly Directives: readonly Directive[];
  readonly Interfaces: readonly string[];
  readonly Fields: readonly FieldDefinition[];
  readonly Types: readonly string[];
  readonly EnumValues: readonly EnumValueDefinition[];
  readonly BuiltIn: boolean;
  readonly EndOfDefinitionComment?: CommentGroup | undefined;
}

export interface DirectiveDefinition extends Described {
  readonly Arguments: readonly ArgumentDefinition[];
  readonly Locations: readonly string[];
  readonly IsRepeatable: boolean;
}

export interface SchemaDefinition extends Located {
  readonly Description: string;
  readonly Directives: readonly Directive[];
  readonly OperationTypes: readonly (Located & {
    readonly Operation: string;
    readonly Type: string;
  })[];
}

export interface SchemaDocument {
  readonly Schema: readonly SchemaDefinition[];
  readonly SchemaExtension: readonly SchemaDefinition[];
  readonly Directives: readonly DirectiveDefinition[];
  readonly Definitions: readonly Definition[];
  readonly Extensions: readonly Definition[];
}

export class GraphqlError extends Error {
  readonly at: Position | undefined;

  constructor(message: string, at?: Position) {
    super(message);
    this.name = "GraphqlError";
    this.at = at;
  }
}

/** The innermost name of a type: "Int" for "[Int!]!". */
export const typeName = (type: TypeRef): string =>
  type.NamedType !== "" ? type.NamedType : type.Elem === undefined ? "" : typeName(type.Elem);

export function typeText(type: TypeRef): string {
  const inner =
    type.NamedType !== ""
      ? type.NamedType
      : `[${type.Elem === undefined ? "" : typeText(type.Elem)}]`;
  return type.NonNull ? `${inner}!` : inner;
}

export function valueText(value: ValueNode): string {
  switch (kindOf(value)) {
    case "variable":
      return `$${value.Raw}`;
    case "string":
    case "block":
      return JSON.stringify(value.Raw);
    case "list":
      return `[${value.Children.map((child) => valueText(child.Value)).join(",")}]`;
    case "object":
      return `{${value.Children.map((child) => `${child.Name}:${valueText(child.Value)}`).join(",")}}`;
    default:
      return value.Raw;
  }
}
