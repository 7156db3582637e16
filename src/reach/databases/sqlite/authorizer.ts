// The second lock of SQLite: SQLite itself asks, for each thing a statement would do, whether it may.
import { constants as c, type DatabaseSync } from "node:sqlite";
import type { AppError } from "../../../contract/errors.ts";
import { functionDenied, notReadOnly } from "../faults.ts";

/**
 * Everything SQLite brings that only computes. What is not here (load_extension, fts3_tokenizer, a new one) is
 * refused.
 */
const FUNCTIONS = new Set(
  `
abs changes char coalesce concat concat_ws format glob hex ifnull iif if instr last_insert_rowid length like likelihood
likely lower ltrim max min nullif octet_length printf quote random randomblob replace round rtrim sign soundex
sqlite_version substr substring subtype total_changes trim typeof unhex unicode unistr unistr_quote unlikely upper zeroblob
date time datetime julianday unixepoch strftime timediff current_date current_time current_timestamp
avg count group_concat string_agg sum total median percentile percentile_cont percentile_disc
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power radians
sin sinh sqrt tan tanh trunc
json jsonb json_array jsonb_array json_array_length json_error_position json_extract jsonb_extract json_insert jsonb_insert
json_object jsonb_object json_patch jsonb_patch json_pretty json_remove jsonb_remove json_replace jsonb_replace json_set
jsonb_set json_type json_valid json_quote json_group_array jsonb_group_array json_group_object jsonb_group_object
json_array_insert jsonb_array_insert -> ->> match regexp bm25 highlight snippet fts5 offsets matchinfo
rtreecheck rtreedepth rtreenode
`
    .split(/\s+/)
    .filter((name) => name !== ""),
);

const READING = new Set([c.SQLITE_SELECT, c.SQLITE_READ, c.SQLITE_RECURSIVE]);
/** Schema, other files and settings stay closed also to those who may write. */
const WRITING = new Set([
  ...READING,
  c.SQLITE_INSERT,
  c.SQLITE_UPDATE,
  c.SQLITE_DELETE,
  c.SQLITE_TRANSACTION,
  c.SQLITE_SAVEPOINT,
]);

export interface Authorizer {
  /** Why the last statement was refused; null when it was not the authorizer. */
  readonly refusal: () => AppError | null;
}

export function authorize(db: DatabaseSync, access: "read" | "write"): Authorizer {
  const allowed = access === "read" ? READING : WRITING;
  let refusal: AppError | null = null;
  db.setAuthorizer((action, first, second) => {
    if (allowed.has(action)) return c.SQLITE_OK;
    const name = (second ?? "").toLowerCase();
    if (action === c.SQLITE_FUNCTION && FUNCTIONS.has(name)) return c.SQLITE_OK;
    refusal ??=
      action === c.SQLITE_FUNCTION ? functionDenied(name) : notReadOnly(actionName(action, first));
    return c.SQLITE_DENY;
  });
  return { refusal: () => refusal };
}

function actionName(action: number, first: string | null): string {
  const entry = Object.entries(c).find(
    ([name, code]) => code === action && !/CHANGESET|OK|DENY|IGNORE/.test(name),
  );
  const name = (entry?.[0] ?? "SQLITE_UNKNOWN").replace(/^SQLITE_/, "").replaceAll("_", " ");
  return action === c.SQLITE_PRAGMA && first ? `${name} ${first.slice(0, 40)}` : name;
}
