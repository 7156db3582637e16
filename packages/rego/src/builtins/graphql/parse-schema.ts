import type {
  ArgumentDefinition,
  CommentGroup,
  Definition,
  DefinitionKind,
  DirectiveDefinition,
  EnumValueDefinition,
  FieldDefinition,
  SchemaDefinition,
  SchemaDocument,
} from "./ast.ts";
import { Parser } from "./parser.ts";

interface Description {
  readonly text: string;
  readonly comment: CommentGroup | undefined;
}

const KINDS: Readonly<Record<string, DefinitionKind>> = {
  scalar: "SCALAR",
  type: "OBJECT",
  interface: "INTERFACE",
  union: "UNION",
  enum: "ENUM",
  input: "INPUT_OBJECT",
};

const NO_DESCRIPTION: Description = { text: "", comment: undefined };
const EXTENSION: Description = { text: "", comment: undefined };

class SchemaParser extends Parser {
  private readonly builtIn: boolean;

  constructor(source: string, builtIn: boolean) {
    super(source);
    this.builtIn = builtIn;
  }

  document(): SchemaDocument {
    const schema: SchemaDefinition[] = [];
    const schemaExtension: SchemaDefinition[] = [];
    const directives: DirectiveDefinition[] = [];
    const definitions: Definition[] = [];
    const extensions: Definition[] = [];
    while (!this.is("<EOF>")) {
      const described = this.peek();
      const description = this.description();
      const word = this.is("Name") ? this.peek().value : "";
      if (Object.hasOwn(KINDS, word)) definitions.push(this.definition(description));
      else if (word === "schema") schema.push(this.schema(description));
      else if (word === "directive") directives.push(this.directive(description));
      else if (word === "extend") {
        if (description.text !== "") throw this.unexpected(described);
        const { comment } = this;
        this.next();
        if (this.isKeyword("schema")) schemaExtension.push(this.schema(EXTENSION));
        else extensions.push(this.definition(EXTENSION, comment));
      } else throw this.unexpected();
    }
    return {
      Schema: schema,
      SchemaExtension: schemaExtension,
      Directives: directives,
      Definitions: definitions,
      Extensions: extensions,
    };
  }

  private description(): Description {
    if (!this.is("String") && !this.is("BlockString")) return NO_DESCRIPTION;
    const comment = this.comment;
    return { text: this.next().value, comment };
  }

  private schema(description: Description): SchemaDefinition {
    const extension = description === EXTENSION;
    this.keyword("schema");
    const at = this.at();
    const directives = this.directives(true);
    const operations = this.some("{", "}", () => {
      const place = this.at();
      const operation = this.expect("Name");
      if (!["query", "mutation", "subscription"].includes(operation.value))
        throw this.unexpected(operation);
      this.expect(":");
      return { Operation: operation.value, Type: this.name(), at: place };
    });
    if (extension && directives.length === 0 && operations.length === 0) throw this.unexpected();
    return {
      Description: description.text,
      Directives: directives,
      OperationTypes: operations,
      at,
    };
  }

  private definition(description: Description, outer?: CommentGroup): Definition {
    const extension = description === EXTENSION;
    const kind = this.is("Name") ? KINDS[this.peek().value] : undefined;
    if (kind === undefined) throw this.unexpected();
    const comment = this.comment;
    this.next();
    const at = this.at();
    const name = this.name();
    const hasFields = kind === "OBJECT" || kind === "INTERFACE";
    const interfaces = hasFields ? this.interfaces() : [];
    const directives = this.directives(true);
    const fields = hasFields
      ? this.some("{", "}", () => this.field())
      : kind === "INPUT_OBJECT"
        ? this.some("{", "}", () => ({ ...this.input(), Arguments: [] }))
        : [];
    let end = fields.length > 0 ? this.closing : undefined;
    const types = kind === "UNION" ? this.members() : [];
    const values = kind === "ENUM" ? this.some("{", "}", () => this.enumValue()) : [];
    if (values.length > 0) end = this.closing;
    const empty = [interfaces, directives, fields, types, values].every(
      (list) => list.length === 0,
    );
    if (extension && empty) throw this.unexpected();
    return {
      Kind: kind,
      Description: description.text,
      Name: name,
      Directives: directives,
      Interfaces: interfaces,
      Fields: fields,
      Types: types,
      EnumValues: values,
      BuiltIn: this.builtIn,
      BeforeDescriptionComment: description.comment,
      AfterDescriptionComment: outer ?? comment,
      EndOfDefinitionComment: end,
      at,
    };
  }

  private interfaces(): string[] {
    if (!this.isKeyword("implements")) return [];
    this.next();
    this.skip("&");
    const names = [this.name()];
    while (this.skip("&")) names.push(this.name());
    return names;
  }

  private members(): string[] {
    if (!this.skip("=")) return [];
    this.skip("|");
    const names = [this.name()];
    while (this.skip("|")) names.push(this.name());
    return names;
  }

  private enumValue(): EnumValueDefinition {
    const { text, comment: before } = this.description();
    const at = this.at();
    const { comment } = this;
    return {
      Description: text,
      Name: this.name(),
      Directives: this.directives(true),
      BeforeDescriptionComment: before,
      AfterDescriptionComment: comment,
      at,
    };
  }

  private field(): FieldDefinition {
    const { text, comment: before } = this.description();
    const at = this.at();
    const comment = this.comment;
    const name = this.name();
    const args = this.some("(", ")", () => this.input());
    this.expect(":");
    const type = this.type();
    return {
      Description: text,
      Name: name,
      Arguments: args,
      Type: type,
      Directives: this.directives(true),
      BeforeDescriptionComment: before,
      AfterDescriptionComment: comment,
      at,
    };
  }

  private input(): ArgumentDefinition {
    const { text, comment: before } = this.description();
    const at = this.at();
    const comment = this.comment;
    const name = this.name();
    this.expect(":");
    const type = this.type();
    const value = this.skip("=") ? { DefaultValue: this.value(true) } : {};
    return {
      Description: text,
      Name: name,
      ...value,
      Type: type,
      Directives: this.directives(true),
      BeforeDescriptionComment: before,
      AfterDescriptionComment: comment,
      at,
    };
  }

  private directive(description: Description): DirectiveDefinition {
    this.keyword("directive");
    this.expect("@");
    const at = this.at();
    const name = this.name();
    const args = this.some("(", ")", () => this.input());
    const repeatable = this.isKeyword("repeatable");
    if (repeatable) this.next();
    this.keyword("on");
    this.skip("|");
    const locations = [this.location()];
    while (this.skip("|")) locations.push(this.location());
    return {
      Description: description.text,
      Name: name,
      Arguments: args,
      Locations: locations,
      IsRepeatable: repeatable,
      at,
    };
  }

  private location(): string {
    const token = this.expect("Name");
    if (!LOCATIONS.has(token.value)) throw this.unexpected(token);
    return token.value;
  }
}

const LOCATIONS = new Set([
  "QUERY",
  "MUTATION",
  "SUBSCRIPTION",
  "FIELD",
  "FRAGMENT_DEFINITION",
  "FRAGMENT_SPREAD",
  "INLINE_FRAGMENT",
  "VARIABLE_DEFINITION",
  "SCHEMA",
  "SCALAR",
  "OBJECT",
  "FIELD_DEFINITION",
  "ARGUMENT_DEFINITION",
  "INTERFACE",
  "UNION",
  "ENUM",
  "ENUM_VALUE",
  "INPUT_OBJECT",
  "INPUT_FIELD_DEFINITION",
]);

export const parseSchema = (source: string, builtIn = false): SchemaDocument =>
  new SchemaParser(source, builtIn).document();
