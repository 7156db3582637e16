// An OpenAPI document as definitions of tools: one per operation that was chosen and can be called.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Json, JsonObject } from "../../contract/call.ts";
import type { ForeignDefinition } from "../../storage/store/store.ts";
import { chooseOperations } from "./choose.ts";
import {
  isObject,
  pointer,
  readDocument,
  refused,
  resolved,
  shown,
  type ApiDocument,
  type ConversionNote,
} from "./document.ts";
import { inputsOf, isJson, OperationFault } from "./inputs.ts";
import { toolNames } from "./names.ts";
import { jsonOf, type Method } from "./operation.ts";
import { convertSchema, shortened, type Conversion } from "./schema.ts";
import { proofsOf, schemesOf, type Proof } from "./security.ts";

export interface OpenApiOptions {
  /** Terms as in `choose.ts`; none: all operations. */
  readonly choose?: readonly string[] | undefined;
  /** What is handed on of the answers, by the name of the operation. */
  readonly shape?: Readonly<Record<string, Shape>> | undefined;
  /** Also the schemas of the answers, as far as they are small: an answer that does not fit one is refused then. */
  readonly outputs?: boolean | undefined;
  /** Where the document was found: relative addresses in it start there. */
  readonly documentUrl?: string | undefined;
}

export interface Shape {
  readonly select?: readonly string[] | undefined;
  readonly maxItems?: number | undefined;
}

export interface ApiImport {
  readonly title: string;
  readonly description: string;
  /** Proposals of the document, for an administrator to approve: a document alone makes nothing reachable. */
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly operations: readonly ForeignDefinition[];
  /** What was left out or cut, and where. */
  readonly notes: readonly ConversionNote[];
}

const MAX_OPERATIONS = 1_000;
const MAX_NOTES = 200;
const MAX_CHARS = 4_194_304;
const MAX_DESCRIPTION = 2_000;
const MAX_TITLE = 200;
const MAX_OUTPUT_PARTS = 150;
const VERBS = ["get", "head", "post", "put", "patch", "delete", "options"] as const;

export interface FoundOperation {
  readonly id: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly method: Method;
  readonly path: string;
  readonly at: string;
  readonly value: JsonObject;
  readonly item: { readonly value: JsonObject; readonly at: string };
}

export async function importOpenApi(
  text: string,
  options: OpenApiOptions = {},
): Promise<ApiImport> {
  const document = await readDocument(text);
  const notes: ConversionNote[] = [];
  const all = operationsIn(document, notes);
  const proofs = proofsOf(document, notes);
  const picked = chooseOperations(all, options.choose ?? []);
  if (picked.length === 0)
    throw refused(
      "/paths",
      "no operation was found",
      all.length === 0 ? "send a document with paths" : "choose fewer exclusions",
    );
  requireKnown(options.shape ?? {}, picked);
  const used = new Set<string>();
  const faults: ConversionNote[] = [];
  const operations: ForeignDefinition[] = [];
  let chars = 0;
  for (const one of picked) {
    // Putting references in place is work: others get their turn in between.
    await nextTurn();
    try {
      const made = definitionOf(document, one, proofs, options, notes);
      for (const scheme of made.schemes) used.add(scheme);
      operations.push(made.definition);
      chars += JSON.stringify(made.definition).length;
    } catch (cause) {
      if (!(cause instanceof OperationFault)) throw cause;
      faults.push({
        path: cause.note.path,
        message: `${one.name} is left out: ${cause.note.message}`,
      });
    }
    if (chars > MAX_CHARS)
      throw refused(
        "/choose",
        `the operations take more than ${MAX_CHARS} characters`,
        "choose those that are needed, e.g. tag:pets",
      );
    // Only a few notes are shown, while a document may have a million faults.
    if (notes.length > MAX_NOTES)
      notes.splice(0, notes.length, ...distinct(notes).slice(0, MAX_NOTES));
  }
  if (operations.length === 0)
    throw refused(
      faults[0]?.path ?? "",
      faults[0]?.message ?? "",
      "mend the document, or add single endpoints",
    );
  const { info } = document.root;
  const about = (key: string): string =>
    isObject(info) && typeof info[key] === "string" ? info[key] : "";
  return {
    title: shortened(about("title"), MAX_TITLE),
    description: shortened(about("description"), MAX_DESCRIPTION),
    url: addressIn(document.root["servers"], options.documentUrl),
    headers: headersOf([...used].flatMap((scheme) => proofs.get(scheme) ?? [])),
    operations,
    notes: distinct([...faults, ...notes]).slice(0, MAX_NOTES),
  };
}

/** A schema that many operations use is reported once. */
const distinct = (notes: readonly ConversionNote[]): ConversionNote[] => [
  ...new Map(notes.map((note) => [JSON.stringify([note.path, note.message]), note])).values(),
];

function operationsIn(document: ApiDocument, notes: ConversionNote[]): FoundOperation[] {
  const { paths } = document.root;
  if (!isObject(paths))
    throw refused(
      "/paths",
      `expected an object, got ${shown(paths)}`,
      "send a document with paths",
    );
  const names = toolNames();
  const found: FoundOperation[] = [];
  for (const [path, given] of Object.entries(paths)) {
    const at = pointer("paths", path);
    if (path.startsWith("x-")) continue;
    const item = resolved(document, given, at);
    const fault = "value" in item ? pathFault(path) : item.message;
    if (fault !== null || !("value" in item)) {
      notes.push({ path: "value" in item ? at : item.path, message: `left out: ${fault}` });
      continue;
    }
    for (const verb of VERBS) {
      const value = item.value[verb];
      if (value === undefined) continue;
      const place = `${at}${pointer(verb)}`;
      if (!isObject(value)) {
        notes.push({ path: place, message: `left out: expected an object, got ${shown(value)}` });
        continue;
      }
      if (found.length >= MAX_OPERATIONS)
        throw refused(place, `expected at most ${MAX_OPERATIONS} operations`, "split the document");
      const { operationId, tags } = value;
      const id = typeof operationId === "string" ? operationId : `${verb} ${path}`;
      found.push({
        id,
        name: names.take(id, `${verb} ${path}`),
        tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
        method: verb.toUpperCase() as Method,
        path,
        at: place,
        value,
        item,
      });
    }
  }
  return found;
}

/** What a template must not contain, so that a path stays the one that was approved. */
export function pathFault(path: string): string | null {
  if (!path.startsWith("/")) return "expected a path that begins with /";
  if (/[\s?#\\\p{Cc}]/u.test(path)) return "a path holds no blanks, ?, # or \\";
  const fixed = path.replace(/\{[^{}/]+\}/g, "x");
  if (/[{}]/.test(fixed)) return "its braces do not match";
  const decoded = fixed.replace(/%2e/gi, ".");
  if (decoded.split("/").some((step) => step === "." || step === ".."))
    return "it holds . or .. as a step";
  return path.length > 2_000 ? "it is too long" : null;
}

export function definitionOf(
  document: ApiDocument,
  found: FoundOperation,
  proofs: ReadonlyMap<string, Proof>,
  options: OpenApiOptions,
  notes: ConversionNote[],
) {
  const { value, at, item, path, method, name } = found;
  if (value["servers"] !== undefined || item.value["servers"] !== undefined)
    throw new OperationFault({
      path: `${value["servers"] === undefined ? item.at : at}/servers`,
      message: "it says that it lives elsewhere; add it as a server of its own",
    });
  const inputs = inputsOf(document, { value, at }, item.value["parameters"], item.at, path, notes);
  const schemes = schemesOf(value["security"] ?? document.root["security"], proofs);
  if (schemes === null)
    notes.push({
      path: `${at}/security`,
      message:
        "none of its ways of authorization can be had here; add a header to the server by hand",
    });
  const shape = options.shape?.[name] ?? {};
  const definition: ForeignDefinition = {
    method: "http",
    name,
    ...wordsOf(value, method, path),
    inputSchema: inputs.schema,
    outputSchema: options.outputs === true && !shape.select ? outputOf(document, value, at) : null,
    annotations: annotationsOf(method),
    operation: jsonOf({
      method,
      path,
      query: [],
      parameters: inputs.parameters,
      body: inputs.body,
      security: schemes ?? [],
      select: shape.select ?? null,
      maxItems: shape.maxItems ?? null,
    }),
  };
  return { definition, schemes: schemes ?? [] };
}

function wordsOf({ summary, description, deprecated }: JsonObject, method: string, path: string) {
  const texts = [summary, description].filter(
    (text): text is string => typeof text === "string" && text.trim() !== "",
  );
  const fullText = texts.join("\n\n") || `${method} ${path}`;
  return {
    title: typeof summary === "string" && summary !== "" ? shortened(summary, MAX_TITLE) : null,
    description: shortened(
      deprecated === true ? `Deprecated. ${fullText}` : fullText,
      MAX_DESCRIPTION,
    ),
  };
}

/** What a method promises (RFC 9110); whether the API keeps it nobody knows. */
function annotationsOf(method: Method): JsonObject {
  const readOnly = method === "GET" || method === "HEAD" || method === "OPTIONS";
  return {
    readOnlyHint: readOnly,
    destructiveHint: method === "DELETE",
    idempotentHint: readOnly || method === "PUT" || method === "DELETE",
    openWorldHint: true,
  };
}

/**
 * The schema of the usual answer in the form in which answers are handed on; null when there is none, or it is not
 * small.
 */
function outputOf(document: ApiDocument, value: JsonObject, at: string): JsonObject | null {
  const { responses } = value;
  const status = isObject(responses)
    ? Object.keys(responses).find((code) => /^2/.test(code))
    : undefined;
  if (status === undefined || !isObject(responses)) return null;
  const resolution = resolved(document, responses[status], `${at}/responses${pointer(status)}`);
  const content = "value" in resolution ? resolution.value["content"] : undefined;
  const mediaType = isObject(content) ? Object.keys(content).find(isJson) : undefined;
  if (mediaType === undefined || !isObject(content)) return null;
  const inner: Json | undefined = content[mediaType];
  if (!isObject(inner) || inner["schema"] === undefined) return null;
  const to: Conversion = { document, direction: "output", notes: [], partsLeft: MAX_OUTPUT_PARTS };
  const body = convertSchema(inner["schema"], `${at}/responses`, to);
  // One that had to be cut says too little to be worth its place.
  if (to.notes.length > 0) return null;
  return {
    type: "object",
    properties: { status: { type: "integer" }, body },
    required: ["status", "body"],
  };
}

function requireKnown(
  shape: Readonly<Record<string, Shape>>,
  picked: readonly FoundOperation[],
): void {
  const known = new Set(picked.map(({ name }) => name));
  const odd = Object.keys(shape).find((name) => !known.has(name));
  if (odd !== undefined)
    throw refused(
      pointer("shape", odd),
      "no operation that was chosen has this name",
      `known: ${[...known].slice(0, 20).join(", ")}`,
    );
}

/** The first server with its variables filled in; null when it is no address. */
function addressIn(servers: Json | undefined, documentUrl: string | undefined): string | null {
  const [first] = Array.isArray(servers) ? (servers as readonly Json[]) : [];
  const given = isObject(first) && typeof first["url"] === "string" ? first["url"] : "/";
  const variables = isObject(first) && isObject(first["variables"]) ? first["variables"] : {};
  const filled = given.replace(PLACED, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return isObject(variable) && typeof variable["default"] === "string"
      ? variable["default"]
      : whole;
  });
  const url = URL.parse(filled, documentUrl);
  if (!url || !/^https?:$/.test(url.protocol) || /[{}]/.test(filled)) return null;
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

const PLACED = /\{([^{}]+)\}/g;

function headersOf(proofs: readonly Proof[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, value } of proofs) headers[header] ??= value;
  return headers;
}
