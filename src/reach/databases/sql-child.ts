// The process that runs foreign SQL on SQLite files and parses foreign SQL for PostgreSQL. Its parent kills it when it
// takes too long. One request, one answer.
import { faultOf } from "../../contract/errors.ts";
import type { ChildAnswer } from "./children.ts";
import type { SqliteJob } from "./sqlite/run.ts";
import { exhaustedBy } from "../../util/exhaustion.ts";

export type ChildRequest =
  | { readonly kind: "sqlite"; readonly job: SqliteJob }
  | { readonly kind: "parse"; readonly sql: string };

async function answer(request: ChildRequest): Promise<unknown> {
  if (request.kind === "sqlite") {
    const { runSqlite } = await import("./sqlite/run.ts");
    process.send?.("started");
    return runSqlite(request.job);
  }
  const { inspect } = await import("./guard/postgres.ts");
  const started = (): void => void process.send?.("started");
  return inspect(request.sql, started);
}

async function reply(request: ChildRequest): Promise<void> {
  let message: ChildAnswer;
  try {
    message = { value: await answer(request) };
  } catch (cause) {
    const exhausted = exhaustedBy(cause);
    message = { fault: faultOf(cause), ...(exhausted === null ? {} : { exhausted }) };
  }
  process.send?.(message);
}

process.on("message", (request: ChildRequest) => {
  reply(request).catch(() => process.exit(1));
});
process.on("disconnect", () => process.exit(0));
