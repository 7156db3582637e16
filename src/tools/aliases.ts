// Names that other systems use for our tools, where their arguments differ too. Plain aliases are fields of the tools.
import type { Json, JsonObject } from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";

interface Rename {
  readonly to: string;
  /** Numbers are multiplied by it. */
  readonly times?: number;
}

const BYTES_PER_MB = 1_048_576;

const RENAMED: Readonly<Record<string, Readonly<Record<string, Rename>>>> = {
  read_file: { max_size_mb: { to: "maxBytes", times: BYTES_PER_MB } },
  read: { max_size_mb: { to: "maxBytes", times: BYTES_PER_MB } },
  doc_parser: { attachment_id: { to: "attachmentId" } },
  document_ingest: { attachment_id: { to: "attachmentId" } },
};

/** Arguments that the name implies, unless the call sets them. */
const IMPLIED: Readonly<Record<string, JsonObject>> = {
  read_system_logs: { source: "system" },
};

/** One name for four tools: the method decides which. */
const BY_METHOD = new Set(["http_request", "web/request", "web_request"]);
const METHODS: Readonly<Record<string, string>> = {
  GET: "web/get",
  POST: "web/post",
  PUT: "web/put",
  DELETE: "web/delete",
};

export interface Translated {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The tool and arguments that a name stands for; most stand for themselves. */
export function translate(name: string, given: JsonObject): Translated {
  if (BY_METHOD.has(name)) return byMethod(given);
  if (Object.hasOwn(IMPLIED, name)) return { name, arguments: { ...IMPLIED[name], ...given } };
  const renames = Object.hasOwn(RENAMED, name) ? RENAMED[name] : undefined;
  if (!renames) return { name, arguments: given };
  const translated: Record<string, Json> = {};
  for (const [key, value] of Object.entries(given)) {
    const rename = Object.hasOwn(renames, key) ? renames[key] : undefined;
    const to = rename?.to ?? key;
    if (Object.hasOwn(translated, to) || (rename && Object.hasOwn(given, to))) {
      throw conflict(`/${key}`, `${key} and ${to} are the same parameter`, `give ${to} only`);
    }
    translated[to] =
      rename?.times && typeof value === "number" ? Math.floor(value * rename.times) : value;
  }
  return { name, arguments: translated };
}

function byMethod(given: JsonObject): Translated {
  const { method = "GET", ...rest } = given;
  const word = typeof method === "string" ? method.toUpperCase() : "";
  const name = Object.hasOwn(METHODS, word) ? METHODS[word] : undefined;
  if (name === undefined) {
    const methods = Object.keys(METHODS).join(", ");
    throw conflict(
      "/method",
      `expected one of ${methods}, got ${JSON.stringify(method)}`,
      `use one of ${methods}`,
    );
  }
  return { name, arguments: rest };
}

function conflict(path: string, message: string, remedy: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_arguments", `${path.slice(1)}: ${message}`, {
    remedy,
    errors: [{ path, message, suggestion: remedy }],
  });
}
