// Checks of a draft that need no sandbox: its name, its schemas, that examples and tests fit them, and that it holds no
// secret. All faults are reported together.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { DraftedTool } from "../../contract/powers/agents.ts";
import { CATEGORIES } from "../../contract/tool.ts";
import { OWN_FILES } from "../../reach/code/drafted-program.ts";
import type { DraftDefinition, DraftProgram, DraftTest } from "../../storage/store/store.ts";
import { schemaErrors } from "../../util/schema/foreign-schema.ts";
import { quote } from "../../util/text/quote.ts";
import { schemaFault } from "../caller-schema.ts";

export interface CheckedDraft {
  readonly name: string;
  readonly definition: DraftDefinition;
  readonly program: DraftProgram;
  readonly tests: readonly DraftTest[];
}

const NAME = /^([a-z][a-z0-9_]{0,31})\/([a-z][a-z0-9_]{0,39})$/;
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/;
const SHOWN_FAULTS = 20;

export function checkDraft(
  draft: DraftedTool,
  holdsSecret: (text: string) => boolean,
): CheckedDraft {
  requireName(draft.name);
  // What arrives here was parsed from JSON.
  const schema = draft.schema as JsonObject;
  const outputSchema = (draft.outputSchema as JsonObject | undefined) ?? null;
  requireSchema("/schema", schema);
  if (outputSchema !== null) requireSchema("/outputSchema", outputSchema);
  const program = programOf(draft.config);
  const definition: DraftDefinition = {
    description: draft.description,
    inputSchema: { ...schema, additionalProperties: false },
    outputSchema,
    examples: draft.examples as readonly JsonObject[],
    timeoutMs: draft.timeoutSeconds * 1_000,
  };
  const tests = draft.tests as readonly DraftTest[];
  const faults = [
    ...definition.examples.flatMap((example, at) =>
      misfits(`/examples/${at}`, definition.inputSchema, example),
    ),
    ...tests.flatMap((test, at) => testFaults(`/tests/${at}`, test, definition)),
    ...secretsIn(draft, holdsSecret),
  ];
  if (faults.length > 0) throw invalid(faults);
  return { name: draft.name, definition, program, tests };
}

function requireName(name: string): void {
  const category = NAME.exec(name)?.[1];
  if (category !== undefined && (CATEGORIES as readonly string[]).includes(category)) return;
  throw new AppError("BAD_REQUEST", "name_invalid", `${quote(name)} is no name for a tool`, {
    remedy: `expected category/name in a-z, 0-9 and _, the category one of ${CATEGORIES.join(", ")}`,
    errors: [{ path: "/name", message: "expected category/name" }],
  });
}

function requireSchema(path: string, schema: JsonObject): void {
  const message = schemaFault(schema);
  if (message === null) return;
  throw new AppError("BAD_REQUEST", "schema_invalid", `${path.slice(1)}: ${message}`, {
    remedy:
      "send a JSON Schema of type object, at most 10 levels deep, without references and patterns",
    errors: [{ path, message }],
  });
}

/** Kinds that cannot run in a sandbox are refused, with the way to add them instead. */
function programOf({ kind, language, source, command }: DraftedTool["config"]): DraftProgram {
  const refused = (message: string, remedy: string): AppError =>
    new AppError("BAD_REQUEST", "kind_unsupported", `config: ${message}`, {
      remedy,
      errors: [{ path: "/config/kind", message, suggestion: remedy }],
    });
  switch (kind) {
    case "http":
      throw refused(
        "a draft of kind http has no runner",
        "an administrator adds an HTTP API with its document (ostiary servers add --openapi), or write code and ask for its host to be granted",
      );
    case "upstream":
      throw refused(
        "a draft of kind upstream has no runner",
        "an administrator adds an MCP server: ostiary servers add",
      );
    case "command":
      if (command !== undefined && source === undefined && language === undefined)
        return { kind, command };
      throw invalid([{ path: "/config", message: "of kind command: expected command alone" }]);
    case "code":
      if (language !== undefined && source !== undefined && command === undefined)
        return { kind, language, source };
      throw invalid([
        { path: "/config", message: "of kind code: expected language and source alone" },
      ]);
  }
}

function testFaults(path: string, test: DraftTest, definition: DraftDefinition): FieldFault[] {
  const { input, output, error, files = {} } = test;
  const { inputSchema, outputSchema } = definition;
  const names = Object.keys(files);
  const own = names.find((name) => OWN_FILES.has(name));
  const odd = names.find((name) => !FILE_NAME.test(name));
  return [
    ...misfits(`${path}/input`, inputSchema, input),
    ...((output === undefined) === (error === undefined)
      ? [{ path, message: "expected either output or error", suggestion: "give one of the two" }]
      : []),
    ...(output === undefined || outputSchema === null
      ? []
      : misfits(`${path}/output`, outputSchema, output)),
    ...(odd === undefined
      ? []
      : [{ path: `${path}/files`, message: `${quote(odd)} is no name of a file without folders` }]),
    ...(own === undefined
      ? []
      : [{ path: `${path}/files`, message: `${own} is the program itself: choose another name` }]),
  ];
}

const misfits = (path: string, schema: JsonObject, value: Json): FieldFault[] =>
  schemaErrors(schema, value).map((fault) => ({
    path: `${path}${fault.path}`,
    message: `does not fit the schema: ${fault.message}`,
  }));

/** What the record would mask is refused: reviewers would see a secret, and every caller would use it. */
function secretsIn(draft: DraftedTool, holdsSecret: (text: string) => boolean): FieldFault[] {
  const suggestion =
    "leave it out: a drafted tool has no secrets, and an API that needs one is added by an administrator; what is none needs another name";
  const { source, command = [] } = draft.config;
  const texts: [string, string][] = [
    ["/description", draft.description],
    ...command.map((word, at): [string, string] => [`/config/command/${at}`, word]),
    ["/schema", JSON.stringify(draft.schema)],
    ["/outputSchema", JSON.stringify(draft.outputSchema ?? null)],
    ["/examples", JSON.stringify(draft.examples)],
    ["/tests", JSON.stringify(draft.tests)],
  ];
  const faults = texts
    .filter(([, text]) => holdsSecret(text))
    .map(([path]) => ({ path, message: "holds what looks like a secret", suggestion }));
  if (source === undefined || !holdsSecret(source)) return faults;
  const line = source.split("\n").findIndex((text) => holdsSecret(text)) + 1;
  const where = line > 0 ? `line ${line} ` : "";
  const message = `${where}holds what looks like a secret`;
  return [...faults, { path: "/config/source", message, suggestion }];
}

export function invalid(faults: readonly FieldFault[]): AppError {
  const shown = faults.slice(0, SHOWN_FAULTS);
  const told = shown.map(({ path, message }) => `${path} ${message}`).join("; ");
  return new AppError("BAD_REQUEST", "draft_invalid", `The draft is not valid: ${told}`, {
    remedy: shown[0]?.suggestion ?? "correct the fields listed in errors and draft it again",
    errors: shown,
  });
}
