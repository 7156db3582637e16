// Statements of batches: prepared once each, and run all or not at all.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { bind } from "../bind.ts";
import { failure, type Result } from "../group.ts";
import type { Statement } from "../message.ts";

const MAX_PREPARED = 500;

interface Prepared {
  readonly statement: StatementSync;
  readonly returns: boolean;
}

export interface BatchWriter {
  /** The rows of each statement, or why none of them has an effect. */
  write(statements: readonly Statement[]): Result;
  /** Undoes what the work has written when it fails, and nothing else of the group. */
  allOrNothing(work: () => Result): Result;
}

export function createBatchWriter(db: DatabaseSync): BatchWriter {
  const prepared = new Map<string, Prepared>();

  function prepare(sql: string): Prepared {
    const known = prepared.get(sql);
    if (known) return known;
    if (prepared.size >= MAX_PREPARED) prepared.clear();
    const statement = db.prepare(sql);
    const made = { statement, returns: statement.columns().length > 0 };
    prepared.set(sql, made);
    return made;
  }

  function allOrNothing(work: () => Result): Result {
    db.exec("savepoint batch");
    try {
      const result = work();
      db.exec("release batch");
      return result;
    } catch (cause) {
      // A full disk ends the whole transaction; then the group is lost, not only this batch.
      if (!db.isTransaction) throw cause;
      db.exec("rollback to batch; release batch");
      return failure(cause);
    }
  }

  return {
    allOrNothing,
    write: (statements) =>
      allOrNothing(() =>
        statements.map(({ sql, parameters }) => {
          const { statement, returns } = prepare(sql);
          const values = parameters.map(bind);
          if (returns) return statement.all(...values);
          statement.run(...values);
          return [];
        }),
      ),
  };
}
