// The first lock of PostgreSQL: its own parser says what a statement is. The read-only transaction is the second, the
// connection's role the third. Runs in the process of sql-child.ts.
import { loadModule, parseSync, SqlError } from "libpg-query";
import type { Json, JsonObject } from "../../../contract/call.ts";
import {
  functionDenied,
  notReadOnly,
  relationDenied,
  severalStatements,
  sqlError,
} from "../faults.ts";

export interface Inspected {
  /** Only a select can be read through a cursor. */
  readonly kind: "select" | "show" | "explain";
  /** Functions it calls: the catalogue is asked about them before it runs. */
  readonly functions: readonly { readonly schema: string | null; readonly name: string }[];
}

/**
 * Refused whatever the catalogue says: they reach files, programs, other servers or settings, wait, lock, or run text
 * as SQL.
 */
const DENIED =
  /^(?:pg_read_|pg_ls_|pg_stat_file|pg_stat_reset|pg_file|pg_sleep|lo_|loread|lowrite|dblink|pg_terminate|pg_cancel|pg_reload|pg_rotate|pg_logical|pg_replication|pg_create|pg_drop|pg_start|pg_stop|pg_backup|pg_switch|pg_promote|pg_wal|pg_export|pg_notify|pg_advisory|pg_try_advisory|pg_hba|pg_show_all_file|pg_get_object|pg_current_logfile|pg_ident|pg_execute|pg_import|pg_restore|pg_clear|pg_log|pg_config|pg_prewarm|set_config|setseed|nextval|setval|copy|query_to_|cursor_to_|table_to_|schema_to_|database_to_|ts_stat|txid_current$|pg_current_xact_id$|binary_upgrade|system$|exec|http|plpy|plperl)/;

/** Where passwords and the server's own settings lie. */
const CLOSED = new Set([
  "pg_authid",
  "pg_shadow",
  "pg_user_mapping",
  "pg_user_mappings",
  "_pg_user_mappings",
  "user_mapping_options",
  "pg_largeobject",
  "pg_hba_file_rules",
  "pg_file_settings",
  "pg_ident_file_mappings",
  "pg_subscription",
  "pg_config",
]);

/** `started` is called when the parser is loaded: from then on the time of the statement counts. */
export async function inspect(
  sql: string,
  started: () => void = () => undefined,
): Promise<Inspected> {
  await loadModule();
  started();
  const nul = sql.indexOf("\0");
  // The parser ends its text there, a server may not.
  if (nul >= 0) throw sqlError("22021", "a NUL character", nul + 1);
  if (sql.trim() === "") throw sqlError("42601", "there is no statement", null);
  let statements: readonly { stmt?: unknown }[];
  try {
    statements = parseSync(sql).stmts ?? [];
  } catch (cause) {
    if (cause instanceof SqlError && cause.sqlDetails)
      throw sqlError("42601", cause.message, cause.sqlDetails.cursorPosition + 1);
    throw sqlError("54001", "the statement is nested too deeply", null);
  }
  const [first] = statements;
  if (first?.stmt === undefined) throw sqlError("42601", "there is no statement", null);
  if (statements.length > 1) throw severalStatements(statements.length);
  return judge(first.stmt as JsonObject);
}

function judge(statement: JsonObject): Inspected {
  const [name = "", body] = Object.entries(statement)[0] ?? [];
  if (name === "VariableShowStmt") return { kind: "show", functions: [] };
  if (name === "SelectStmt") return { kind: "select", functions: walk(body as JsonObject) };
  if (name !== "ExplainStmt") throw notReadOnly(wordsOf(name));
  const { query, options } = body as { query: JsonObject; options?: readonly JsonObject[] };
  for (const option of options ?? []) {
    const { defname } = option["DefElem"] as { defname: string };
    if (/^(?:analyze|analyse)$/i.test(defname)) throw notReadOnly("EXPLAIN ANALYZE");
  }
  const inner = Object.keys(query)[0] ?? "";
  if (inner !== "SelectStmt") throw notReadOnly(`EXPLAIN ${wordsOf(inner)}`);
  return { kind: "explain", functions: walk(query) };
}

/** Every node of the tree, without recursion: the tree is as deep as the sender likes. */
function walk(root: Json): Inspected["functions"] {
  const functions = new Map<string, { schema: string | null; name: string }>();
  const left: Json[] = [root];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (typeof node !== "object" || node === null) continue;
    if (Array.isArray(node)) {
      for (const part of node as readonly Json[]) left.push(part);
      continue;
    }
    for (const [key, value] of Object.entries(node as JsonObject)) {
      if (key === "intoClause") throw notReadOnly("SELECT INTO");
      if (key === "lockingClause") throw notReadOnly("SELECT FOR UPDATE or SHARE");
      if (key.endsWith("Stmt") && key !== "SelectStmt") throw notReadOnly(`${wordsOf(key)} inside`);
      if (key === "relname" && typeof value === "string" && CLOSED.has(value.toLowerCase()))
        throw relationDenied(value);
      if (key === "FuncCall") {
        const called = nameOf((value as JsonObject)["funcname"] ?? []);
        if (DENIED.test(called.name.toLowerCase())) throw functionDenied(called.name);
        functions.set(JSON.stringify(called), called);
      }
      left.push(value);
    }
  }
  return [...functions.values()];
}

function nameOf(parts: Json): { schema: string | null; name: string } {
  const texts = (parts as readonly { String?: { sval?: string } }[]).map(
    (part) => part.String?.sval ?? "",
  );
  return { schema: texts.length > 1 ? (texts.at(-2) ?? null) : null, name: texts.at(-1) ?? "" };
}

/** `DeleteStmt` as people write it. */
function wordsOf(node: string): string {
  return (
    node
      .replace(/Stmt$/, "")
      .replace(/(?<=[a-z])(?=[A-Z])/g, " ")
      .toUpperCase() || "nothing"
  );
}
