// A tool in a folder: `tool.yaml` says what it is, the file beside it is the program. Faults name file and line.
import { AppError, type FieldFault } from "../../contract/errors.ts";
import { draftManifest, type DraftInput } from "../../tools/agent/shared/draft.ts";
import { nearest } from "../../util/text/nearest.ts";
import { checkDraft } from "./draft-checks.ts";
import { faultsIn, notValid, readYaml, type FieldPath, type ReadYaml } from "../yaml-file.ts";

const MANIFEST = "tool.yaml";

export interface ReadManifest {
  readonly draft: DraftInput;
  /** A fault of the draft as one of these files: `tool.yaml:4:3`, or a line of the program. */
  placed(fault: FieldFault): FieldFault;
}

/** Checks all that needs no server. `readFile` returns the text of a file of the same folder, null when missing. */
export function readManifest(
  text: string,
  readFile: (name: string) => string | null,
): ReadManifest {
  const read = readYaml(MANIFEST, text);
  const parsed = draftManifest.safeParse(read.value);
  if (!parsed.success) throw notValid(MANIFEST, faultsIn(read, parsed.error.issues, unknownField));
  const { input, output, language, file, command, ...common } = parsed.data;
  const draft = {
    ...common,
    schema: input,
    ...(output === undefined ? {} : { outputSchema: output }),
  };
  if (command !== undefined) {
    if (file !== undefined || language !== undefined)
      throw notValid(MANIFEST, [
        read.fault(["command"], "expected either command, or language and file"),
      ]);
    return checked({
      draft: { ...draft, config: { kind: "command", command } },
      placed: placing(read, null),
    });
  }
  if (language === undefined || file === undefined)
    throw notValid(MANIFEST, [
      read.fault(
        [language === undefined ? "language" : "file"],
        "is missing: expected language and file, or a command",
      ),
    ]);
  const source = readFile(file);
  if (source === null)
    throw notValid(MANIFEST, [read.fault(["file"], `there is no file ${file} beside it`)]);
  return checked({
    draft: { ...draft, config: { kind: "code", language, source } },
    placed: placing(read, file),
  });
}

/** The server checks for secrets, since it knows its own. */
function checked(read: ReadManifest): ReadManifest {
  try {
    checkDraft(read.draft, () => false);
    return read;
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw notValid(MANIFEST, (cause.fault.errors ?? []).map(read.placed));
  }
}

const FIELDS: Readonly<Record<string, FieldPath>> = {
  schema: ["input"],
  outputSchema: ["output"],
};

/** Translates the API's faults, which name fields of the draft, to places in the files. */
function placing({ fault }: ReadYaml, file: string | null) {
  return ({ path, message, ...rest }: FieldFault): FieldFault => {
    const [field = "", ...inner] = path.split("/").slice(1);
    if (field !== "config")
      return { ...rest, ...fault([...(FIELDS[field] ?? [field]), ...inner], message) };
    if (file === null) return { ...rest, ...fault(inner, message) };
    const [, line = "1", told = message] = /^line (\d+):? (.*)$/s.exec(message) ?? [];
    return { ...rest, path: `${file}:${line}`, message: told };
  };
}

function unknownField(path: FieldPath, key: string): string {
  const guess = path.length === 0 ? nearest(key, Object.keys(draftManifest.shape)) : null;
  return `unknown field${guess === null ? "" : `; did you mean ${guess}?`}`;
}
