// A file of agents as text: read with the place of every fault, and written so that the same records give the same
// text.
import { Document, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from "yaml";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import { nearest } from "../../util/text/nearest.ts";
import { agentFile, type AgentFile } from "./schema.ts";

type Path = readonly PropertyKey[];

export interface ReadFile {
  readonly content: AgentFile;
  /** A fault of the field at this path, with its line. */
  fault(path: Path, message: string): FieldFault;
}

const MAX_CHARS = 1_048_576;

/** Throws with every fault: `agents.yaml:12:5`, the field, and what was expected. */
export function readAgentFile(file: string, text: string): ReadFile {
  const counter = new LineCounter();
  const placed = (offset: number, message: string): FieldFault => {
    const { line, col } = counter.linePos(offset);
    return { path: `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`, message };
  };
  if (text.length > MAX_CHARS)
    throw notValid(file, [placed(0, `expected at most ${MAX_CHARS} characters`)]);
  const doc = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const wrong = [...doc.errors, ...doc.warnings];
  if (wrong.length > 0)
    throw notValid(
      file,
      wrong.map(({ pos, message }) => placed(pos[0], `not valid YAML: ${message}`)),
    );
  const fault = (path: Path, message: string): FieldFault =>
    placed(offsetOf(doc.contents, path), `${path.map(String).join(".") || "file"}: ${message}`);
  const parsed = agentFile.safeParse(plainOf(doc, file, placed));
  if (parsed.success) return { content: parsed.data, fault };
  throw notValid(
    file,
    parsed.error.issues.flatMap((issue) => {
      if (issue.code === "unrecognized_keys")
        return issue.keys.map((key) => fault([...issue.path, key], unknownKey(issue.path, key)));
      const [inner] = issue.code === "invalid_key" ? issue.issues : [];
      const message = (inner ?? issue).message.replace(/^Invalid input: |^Too (?:small|big): /, "");
      return [fault(issue.path, message)];
    }),
  );
}

export function notValid(file: string, faults: readonly FieldFault[]): AppError {
  const lines = faults.map(({ path, message }) => `  ${path} ${message}`).join("\n");
  return new AppError("BAD_REQUEST", "invalid_input", `${file} is not valid:\n${lines}`, {
    remedy: "correct the places that are named; nothing was changed",
    errors: faults,
  });
}

/** Aliases are refused: what they stand for could grow without bound. */
function plainOf(
  doc: ReturnType<typeof parseDocument>,
  file: string,
  placed: (offset: number, message: string) => FieldFault,
): unknown {
  try {
    return doc.toJS({ maxAliasCount: 0 }) as unknown;
  } catch {
    throw notValid(file, [placed(0, "holds an alias (*name): write it out")]);
  }
}

/** Where the field is written; of one that is missing, where it should be. */
function offsetOf(contents: Node | null, path: Path): number {
  let node: unknown = contents;
  let offset = contents?.range?.[0] ?? 0;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((one) => isScalar(one.key) && String(one.key.value) === key);
      if (!pair) return offset;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(key)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    }
  }
  return offset;
}

function unknownKey(path: Path, key: string): string {
  const [section] = path as ["models" | "capsules" | "personas" | undefined];
  const known =
    section === undefined
      ? Object.keys(agentFile.shape)
      : path.length === 2
        ? Object.keys(agentFile.shape[section].unwrap().valueType.shape)
        : [];
  const guess = nearest(key, known);
  return `unknown field${guess === null ? "" : `; did you mean ${guess}?`}`;
}

export interface WrittenFile extends Pick<AgentFile, "models" | "capsules" | "personas"> {
  /** Models whose key is sealed, and so is missing in the file. */
  readonly sealed: readonly string[];
}

const HEAD = ` What agents of an Ostiary are: ostiary agents import takes it.`;
const SEALED = ` Its key is sealed and not part of this file: set it again, or name keyReference: env:NAME.`;

export function writeAgentFile({ sealed, ...records }: WrittenFile): string {
  const doc = new Document({ version: 1, ...records }, { aliasDuplicateObjects: false });
  doc.commentBefore = HEAD;
  const models = doc.get("models");
  if (isMap(models))
    for (const pair of models.items)
      if (isScalar(pair.key) && sealed.includes(String(pair.key.value)))
        pair.key.commentBefore = SEALED;
  return doc.toString({ lineWidth: 0 });
}
