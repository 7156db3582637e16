// A history of any length in seconds: whole rows made by SQL inside the database, indexes built once at the end. No
// rollups: a database filled this way is for measuring calls, not figures.
import { DatabaseSync } from "node:sqlite";

export interface Fill {
  readonly rows: number;
  readonly tenantId: string;
  readonly userId: string;
  readonly instanceId: string;
  /** Newest start, epoch ms; the rows reach 90 days back from it. */
  readonly until: number;
}

const TOOLS = [
  "system/echo",
  "system/time",
  "system/info",
  "system/calculator",
  "file/read",
  "file/list",
  "memory/store",
  "memory/retrieve",
];
const SPAN_MS = 90 * 24 * 3_600_000;
const MAX_ROWS = 5_000_000;

/**
 * The file must hold the current schema and have no other user. Every 20th execution failed, every 50th was
 * cancelled.
 */
export function fillHistory(file: string, fill: Fill): void {
  if (fill.rows > MAX_ROWS) throw new RangeError(`at most ${MAX_ROWS} rows`);
  const database = new DatabaseSync(file);
  try {
    database.exec(
      "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA temp_store = MEMORY",
    );
    const indexes = database
      .prepare(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'executions' AND sql IS NOT NULL",
      )
      .all();
    database.exec("BEGIN");
    for (const { name } of indexes) database.exec(`DROP INDEX ${String(name)}`);
    makeRows(database, fill);
    for (const { sql } of indexes) database.exec(String(sql));
    database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
}

function makeRows(
  database: DatabaseSync,
  { rows, tenantId, userId, instanceId, until }: Fill,
): void {
  const row = database.prepare("SELECT coalesce(max(seq), 0) AS head FROM events").get();
  const head = Number(row?.["head"]);
  const step = SPAN_MS / rows;
  const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
  database.exec(`
    CREATE TEMP TABLE made (n INTEGER PRIMARY KEY, id TEXT, tool TEXT, category TEXT, status TEXT, start_ms INTEGER, ms REAL);
    INSERT INTO made
    WITH RECURSIVE
      tools (k, tool) AS (VALUES ${TOOLS.map((tool, k) => `(${k}, ${text(tool)})`).join(", ")}),
      counted (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n + 1 < ${rows})
    SELECT n, 'exec_' || CAST(${until - SPAN_MS} + n * ${step} AS INTEGER) || '_' || printf('%010x', n),
      tool, substr(tool, 1, instr(tool, '/') - 1),
      CASE WHEN n % 50 = 7 THEN 'cancelled' WHEN n % 20 = 3 THEN 'failed' ELSE 'success' END,
      CAST(${until - SPAN_MS} + n * ${step} AS INTEGER), (n % 97) / 10.0
    FROM counted JOIN tools ON k = n % ${TOOLS.length};

    INSERT INTO events (seq, tenant_id, at_ms, action, actor, execution_id, body)
    SELECT ${head} + 1 + n * 2, ${text(tenantId)}, start_ms, 'tool.execution.start', ${text(userId)}, id,
      '{"toolName":"' || tool || '","requestedName":"' || tool || '","category":"' || category ||
      '","status":"running","arguments":{"text":"number ' || n || '"},"startTime":' || start_ms ||
      ',"timeout":5000,"userId":"${userId}","tenantId":"${tenantId}","capsuleId":null,"keyId":null,"sessionId":null,' ||
      '"metadata":null,"idempotencyKey":null,"traceId":"00000000000000000000000000000000","spanId":"0000000000000000",' ||
      '"toolVersion":null,"toolPin":null,"runner":"native","entry":"mcp","instanceId":"${instanceId}","gates":[]}'
    FROM made;
    INSERT INTO events (seq, tenant_id, at_ms, action, actor, execution_id, body)
    SELECT ${head} + 2 + n * 2, ${text(tenantId)}, start_ms,
      'tool.execution.' || CASE status WHEN 'success' THEN 'complete' ELSE status END, ${text(userId)}, id,
      '{"status":"' || status || '","endTime":' || CAST(start_ms + ms AS INTEGER) || ',"executionTime":' || ms ||
      ',"result":{"text":"number ' || n || '"},"error":null,"errorCode":null,"errorReason":null,"remedy":null,' ||
      '"cancelReason":' || CASE status WHEN 'cancelled' THEN '"user"' ELSE 'null' END || ',"metadata":null,"toolName":"' ||
      tool || '","category":"' || category || '","userId":"${userId}","startTime":' || start_ms || '}'
    FROM made;
    INSERT INTO executions (seq, id, tenant_id, user_id, tool_name, category, status, cancel_reason, start_ms, end_ms,
      duration_ms, timeout_ms, instance_id, start_seq, end_seq)
    SELECT ${head} + 1 + n * 2, id, ${text(tenantId)}, ${text(userId)}, tool, category, status,
      CASE status WHEN 'cancelled' THEN 'user' END, start_ms, CAST(start_ms + ms AS INTEGER), ms, 5000,
      ${text(instanceId)}, ${head} + 1 + n * 2, ${head} + 2 + n * 2
    FROM made;
    DROP TABLE made`);
}
