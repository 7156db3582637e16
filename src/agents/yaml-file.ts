// A YAML file that people write, read with the place of every fault.
import { Document, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from "yaml";
import { AppError, type FieldFault } from "../contract/errors.ts";

export type FieldPath = readonly PropertyKey[];

export interface ReadYaml {
  readonly value: unknown;
  /** A fault of the field at this path, with its line. */
  fault(path: FieldPath, message: string): FieldFault;
}

/** As zod tells it. */
interface Issue {
  readonly code: string;
  readonly path: FieldPath;
  readonly message: string;
  readonly keys?: readonly string[];
  readonly issues?: readonly Issue[];
}

const MAX_CHARS = 1_048_576;

/** Throws with every fault: `agents.yaml:12:5`, the field, and what was expected. */
export function readYaml(file: string, text: string): ReadYaml {
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
  return {
    value: plainOf(doc, file, placed),
    fault: (path, message) =>
      placed(offsetOf(doc.contents, path), `${path.map(String).join(".") || "file"}: ${message}`),
  };
}

/** The issues of a schema as faults; `unknownKey` says what an unknown field may have been meant as. */
export function faultsIn(
  { fault }: ReadYaml,
  issues: readonly unknown[],
  unknownKey: (path: FieldPath, key: string) => string,
): FieldFault[] {
  return (issues as readonly Issue[]).flatMap((issue) => {
    if (issue.code === "unrecognized_keys")
      return (issue.keys ?? []).map((key) =>
        fault([...issue.path, key], unknownKey(issue.path, key)),
      );
    const [inner] = issue.code === "invalid_key" ? (issue.issues ?? []) : [];
    const message = (inner ?? issue).message.replace(/^Invalid input: |^Too (?:small|big): /, "");
    return [fault(issue.path, message)];
  });
}

export function notValid(file: string, faults: readonly FieldFault[]): AppError {
  const lines = faults.map(({ path, message }) => `  ${path} ${message}`).join("\n");
  return new AppError("BAD_REQUEST", "invalid_input", `${file} is not valid:\n${lines}`, {
    remedy: "correct the places that are named; nothing was changed",
    errors: faults,
  });
}

/** As people read it: no aliases, no folded lines, `comment` at its head. */
export function writeYaml(value: unknown, comment: string): string {
  const doc = new Document(value, { aliasDuplicateObjects: false });
  doc.commentBefore = comment;
  return doc.toString({ lineWidth: 0 });
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
function offsetOf(contents: Node | null, path: FieldPath): number {
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
