// The whole result of an execution, where the record has only its beginning and the whole was expected to be fetched.
import type { ExecutionRecord, Store } from "../../storage/store/store.ts";

export type WholeResult = <R extends ExecutionRecord>(record: R) => Promise<R>;

/** The same record when its result is whole, or nothing more of it was kept. */
export const wholeResultFrom =
  (results: Pick<Store["results"], "get">, now: () => number): WholeResult =>
  async (record) => {
    if (record.resultCut === null) return record;
    const result = await results.get(record.id, now());
    return result === undefined ? record : { ...record, result, resultCut: null };
  };
