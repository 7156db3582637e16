// The steps of a rebuild inside the writer thread: nobody else writes, so the last step sees the whole log.
import type { DatabaseSync } from "node:sqlite";
import {
  ARCHIVED_MEANWHILE,
  changesOf,
  EVENT_COLUMNS,
  STRETCH,
  type EventRow,
} from "../rebuild.ts";
import { projectionWriter } from "./write-projection.ts";

export const STEPS = ["begin", "stretch", "finish", "abandon"] as const;
export type StepName = (typeof STEPS)[number];

/** `head` is the newest event of earlier groups: those of this one reach the tables after it, as always. */
export type TakeStep = (
  name: StepName,
  after: number,
  oldest: number,
  head: number,
) => Record<string, number>;

export function rebuilder(db: DatabaseSync): TakeStep {
  const copies = projectionWriter(db, { executions: "executions_next", rollups: "rollups_next" });

  function begin(): Record<string, number> {
    clear();
    for (const sql of definitions()) db.exec(sql);
    db.exec("insert into rollups_next select * from rollups_archived");
    return { oldest: oldestEvent() };
  }

  function clear(): void {
    db.exec("drop table if exists executions_next; drop table if exists rollups_next");
  }

  /**
   * The tables as they are, under other names; their indexes cannot be renamed, so those take turns (see
   * 005-history).
   */
  function definitions(): string[] {
    const made = db
      .prepare(
        "select sql from sqlite_master where tbl_name in ('executions', 'rollups') and sql is not null order by type desc",
      )
      .all();
    return made.map(({ sql }) =>
      String(sql)
        .replace(/^(create table) "?(\w+)"?/i, "$1 $2_next")
        .replace(
          /^(create index) "?(\w+)"? on "?(\w+)"?/i,
          (_, create: string, name: string, table: string) =>
            `${create} ${name.endsWith("_b") ? name.slice(0, -2) : `${name}_b`} on ${table}_next`,
        ),
    );
  }

  function oldestEvent(): number {
    return Number(db.prepare("select min(seq) as seq from events").get()?.["seq"] ?? 0);
  }

  function stretch(after: number, head: number): Record<string, number> {
    const rows = db
      .prepare(
        `select ${EVENT_COLUMNS} from events where seq > ? and seq <= ? and execution_id is not null order by seq limit ?`,
      )
      .all(after, head, STRETCH) as unknown as EventRow[];
    copies.write(changesOf(rows).values());
    const seq = rows.length < STRETCH ? head : (rows.at(-1)?.seq ?? head);
    return { seq, events: rows.length, head };
  }

  function finish(after: number, oldest: number, head: number): Record<string, number> {
    if (oldestEvent() !== oldest) throw new Error(ARCHIVED_MEANWHILE);
    let [seq, events] = [after, 0];
    while (seq < head) {
      const step = stretch(seq, head);
      seq = step["seq"] ?? head;
      events += step["events"] ?? 0;
    }
    for (const table of ["executions", "rollups"])
      db.exec(`drop table ${table}; alter table ${table}_next rename to ${table}`);
    return { seq, events, head };
  }

  return (name, after, oldest, head) => {
    switch (name) {
      case "begin":
        return begin();
      case "stretch":
        return stretch(after, head);
      case "finish":
        return finish(after, oldest, head);
      case "abandon":
        clear();
        return {};
    }
  };
}
