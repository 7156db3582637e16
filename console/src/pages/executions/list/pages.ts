// History a page at a time, as rows.
import { api } from "../../../api/client.ts";
import type { HistoryInput } from "../filters.ts";
import { type Row, rowOf } from "../row.ts";

export const PAGE_ROWS = 100;

export interface RowPage {
  readonly rows: readonly Row[];
  readonly next: string | null;
  readonly total: number;
  /** Where executions had to be looked at one by one: how many were, of how many. */
  readonly search?: { readonly searched: number; readonly of: number } | undefined;
}

export async function readPage(
  input: HistoryInput,
  after: string | null,
  signal?: AbortSignal,
): Promise<RowPage> {
  const answer = await api.tools.getToolHistory.query(
    { ...input, limit: PAGE_ROWS, ...(after === null ? {} : { after }) },
    signal ? { signal } : {},
  );
  const { executions, next, totalCount: total, search } = answer;
  return { rows: executions.map(rowOf), next, total, search };
}
