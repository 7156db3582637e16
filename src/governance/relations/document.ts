// The relation schema as a governed document: what must be in it, and how a new version takes effect.
import { AppError } from "../../contract/errors.ts";
import type { DocumentFault, DocumentHandler } from "../rules/governance.ts";
import type { Store } from "../../storage/store/store.ts";
import { compileSchema } from "./embedded/schema.ts";
import type { Relations } from "./relation.ts";

export const SCHEMA_FILE = "schema.zed";

/** The permissions that the server itself checks: a schema without them would deny everything without a reason. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  user: [],
  tool: ["tenant", "executor", "view", "execute", "configure", "approve"],
  tenant: ["member", "admin", "shell_execute", "package_install", "tool_create"],
};

export function relationsDocument(
  relations: () => Relations,
  documents: Pick<Store["documents"], "inState">,
): DocumentHandler {
  return {
    check: (files) => faultsOf(files),
    async apply(state, document) {
      const text = document?.files[SCHEMA_FILE];
      if (state === "shadow") {
        if (document)
          throw new AppError(
            "BAD_REQUEST",
            "invalid_input",
            "a relation schema cannot be tried beside another",
            { remedy: "replay recorded calls against it: ostiary policy replay --schema <file>" },
          );
        return;
      }
      // In force already: this is a start, or another instance published it, and the engine reads it from there itself.
      const inForce = await documents.inState("relations", "enforced");
      if (text === undefined || inForce?.version === document?.version) return;
      await relations().writeSchema(text);
    },
  };
}

async function faultsOf(files: Readonly<Record<string, string>>): Promise<DocumentFault[]> {
  const text = files[SCHEMA_FILE];
  const at = (message: string, line = 1, column = 1, file = SCHEMA_FILE): DocumentFault => ({
    file,
    line,
    column,
    message,
  });
  const strange = Object.keys(files).filter((file) => file !== SCHEMA_FILE);
  const faults = strange.map((file) => at(`expected ${SCHEMA_FILE} alone`, 1, 1, file));
  if (text === undefined) return [...faults, at("the schema is missing")];
  try {
    const { types } = await compileSchema(text);
    for (const [type, names] of Object.entries(ASKED)) {
      const known = types.get(type)?.members;
      if (!known) faults.push(at(`the definition ${type} is missing`));
      else
        for (const name of names)
          if (!known.has(name)) faults.push(at(`${type} has no relation or permission ${name}`));
    }
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    const [, line = "1", column = "1", message = cause.message] =
      /^schema, line (\d+):(\d+): ([\s\S]*)$/.exec(cause.message) ?? [];
    faults.push(at(message, Number(line), Number(column)));
  }
  return faults;
}
