// The JSON form of documents: what OPA shows of them, and documents given in that form.
import { GraphqlError } from "./ast.ts";
import type { QueryDocument, SchemaDocument } from "./ast.ts";

type Json = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Leaves out places, nulls, empty lists and empty objects. */
export function toPlain(node: unknown): unknown {
  if (Array.isArray(node)) {
    return node.map(toPlain).filter((item) => !isEmpty(item));
  }
  if (!isRecord(node)) return node;
  const kept = Object.entries(node)
    .filter(([key]) => key !== "at")
    .map(([key, value]): [string, unknown] => [key, toPlain(value)])
    .filter(([, value]) => !isEmpty(value));
  return Object.fromEntries(kept);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.keys(value).length === 0;
}

const NOWHERE = { line: 0, column: 0 };
type Shape = (value: Json) => Json;

const MAX_DEPTH = 500;

class Decoder {
  private depth = 0;

  private list(value: unknown, item: Shape): readonly Json[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new GraphqlError("expected an array");
    if (++this.depth > MAX_DEPTH) throw new GraphqlError("nested too deeply");
    const items = value.map((entry: unknown) => {
      if (!isRecord(entry)) throw new GraphqlError("expected an object");
      return item(entry);
    });
    this.depth--;
    return items;
  }

  private text(value: unknown): string {
    if (value === undefined || value === null) return "";
    if (typeof value !== "string") throw new GraphqlError("expected a string");
    return value;
  }

  private texts(value: unknown): readonly string[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new GraphqlError("expected an array");
    return value.map((item) => this.text(item));
  }

  private readonly type: Shape = (v) => ({
    NamedType: this.text(v["NamedType"]),
    ...(isRecord(v["Elem"]) ? { Elem: this.type(v["Elem"]) } : {}),
    NonNull: v["NonNull"] === true,
    at: NOWHERE,
  });

  private optional(name: string, value: unknown, shape: Shape): Json {
    return isRecord(value) ? { [name]: shape(value) } : {};
  }

  private typeOf(value: unknown): Json {
    return this.type(isRecord(value) ? value : {});
  }

  private readonly value: Shape = (v) => ({
    Raw: this.text(v["Raw"]),
    Kind: typeof v["Kind"] === "number" ? v["Kind"] : 0,
    Children: this.list(v["Children"], (child) => ({
      Name: this.text(child["Name"]),
      Value: this.value(isRecord(child["Value"]) ? child["Value"] : {}),
      at: NOWHERE,
    })),
    ExpectedTypeHasDefault: v["ExpectedTypeHasDefault"] === true,
    at: NOWHERE,
  });

  private readonly argument: Shape = (v) => ({
    Name: this.text(v["Name"]),
    Value: this.value(isRecord(v["Value"]) ? v["Value"] : {}),
    at: NOWHERE,
  });

  private readonly directive: Shape = (v) => ({
    Name: this.text(v["Name"]),
    Arguments: this.list(v["Arguments"], this.argument),
    Location: this.text(v["Location"]),
    at: NOWHERE,
  });

  /** Every selection reads as a field, as in OPA. */
  private readonly selection: Shape = (v) => ({
    Alias: this.text(v["Alias"]),
    Name: this.text(v["Name"]),
    Arguments: this.list(v["Arguments"], this.argument),
    Directives: this.list(v["Directives"], this.directive),
    SelectionSet: this.list(v["SelectionSet"], this.selection),
    at: NOWHERE,
  });

  private readonly variable: Shape = (v) => ({
    Variable: this.text(v["Variable"]),
    Type: this.typeOf(v["Type"]),
    ...this.optional("DefaultValue", v["DefaultValue"], this.value),
    Directives: this.list(v["Directives"], this.directive),
    Used: v["Used"] === true,
    at: NOWHERE,
  });

  query(v: Json): Json {
    return {
      Operations: this.list(v["Operations"], (o) => ({
        Operation: this.text(o["Operation"]),
        Name: this.text(o["Name"]),
        VariableDefinitions: this.list(o["VariableDefinitions"], this.variable),
        Directives: this.list(o["Directives"], this.directive),
        SelectionSet: this.list(o["SelectionSet"], this.selection),
        at: NOWHERE,
      })),
      Fragments: this.list(v["Fragments"], (f) => ({
        Name: this.text(f["Name"]),
        VariableDefinition: this.list(f["VariableDefinition"], this.variable),
        TypeCondition: this.text(f["TypeCondition"]),
        Directives: this.list(f["Directives"], this.directive),
        SelectionSet: this.list(f["SelectionSet"], this.selection),
        at: NOWHERE,
      })),
    };
  }

  private readonly input: Shape = (v) => ({
    Description: this.text(v["Description"]),
    Name: this.text(v["Name"]),
    Type: this.typeOf(v["Type"]),
    ...this.optional("DefaultValue", v["DefaultValue"], this.value),
    Directives: this.list(v["Directives"], this.directive),
    at: NOWHERE,
  });

  private readonly definition: Shape = (v) => ({
    Kind: this.text(v["Kind"]),
    Description: this.text(v["Description"]),
    Name: this.text(v["Name"]),
    Directives: this.list(v["Directives"], this.directive),
    Interfaces: this.texts(v["Interfaces"]),
    Fields: this.list(v["Fields"], (f) => ({
      ...this.input(f),
      Arguments: this.list(f["Arguments"], this.input),
    })),
    Types: this.texts(v["Types"]),
    EnumValues: this.list(v["EnumValues"], (e) => ({
      Description: this.text(e["Description"]),
      Name: this.text(e["Name"]),
      Directives: this.list(e["Directives"], this.directive),
      at: NOWHERE,
    })),
    BuiltIn: v["BuiltIn"] === true,
    at: NOWHERE,
  });

  private readonly schemaDefinition: Shape = (v) => ({
    Description: this.text(v["Description"]),
    Directives: this.list(v["Directives"], this.directive),
    OperationTypes: this.list(v["OperationTypes"], (o) => ({
      Operation: this.text(o["Operation"]),
      Type: this.text(o["Type"]),
      at: NOWHERE,
    })),
    at: NOWHERE,
  });

  schema(v: Json): Json {
    return {
      Schema: this.list(v["Schema"], this.schemaDefinition),
      SchemaExtension: this.list(v["SchemaExtension"], this.schemaDefinition),
      Directives: this.list(v["Directives"], (d) => ({
        Description: this.text(d["Description"]),
        Name: this.text(d["Name"]),
        Arguments: this.list(d["Arguments"], this.input),
        Locations: this.texts(d["Locations"]),
        IsRepeatable: d["IsRepeatable"] === true,
        at: NOWHERE,
      })),
      Definitions: this.list(v["Definitions"], this.definition),
      Extensions: this.list(v["Extensions"], this.definition),
    };
  }
}

// Every field is read by the decoder above, so the result has the shape of the document.
export const decodeQuery = (json: unknown): QueryDocument =>
  new Decoder().query(isRecord(json) ? json : {}) as unknown as QueryDocument;
export const decodeSchema = (json: unknown): SchemaDocument =>
  new Decoder().schema(isRecord(json) ? json : {}) as unknown as SchemaDocument;
