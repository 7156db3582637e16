// Values on their way out: what JSON cannot hold without loss becomes text, and a result has an upper bound.
import type { Json } from "../../contract/call.ts";

/** What one answer carries at most, as JSON. */
export const MAX_RESULT_BYTES = 1_048_576;
const MAX_CELL_CHARS = 262_144;

/** Collects rows until their number or their size is reached. */
export class Rows {
  readonly rows: Json[][] = [];
  truncated = false;
  readonly #limit: number;
  #left = MAX_RESULT_BYTES;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when this row did not fit: the caller stops. */
  add(cells: readonly unknown[]): boolean {
    if (this.rows.length >= this.#limit) return this.#stop();
    const first = this.rows.length === 0;
    // One row that is larger than everything allowed is shown in part rather than not at all.
    const most = first ? Math.floor(MAX_RESULT_BYTES / Math.max(4, cells.length)) : MAX_CELL_CHARS;
    const row = cells.map((cell) => this.#cut(cellOf(cell), Math.min(most, MAX_CELL_CHARS)));
    const bytes = Buffer.byteLength(JSON.stringify(row));
    if (bytes > this.#left && !first) return this.#stop();
    this.#left -= bytes;
    this.rows.push(row);
    return true;
  }

  #stop(): false {
    this.truncated = true;
    return false;
  }

  #cut(cell: Json, most: number): Json {
    if (typeof cell === "string") {
      if (cell.length <= most) return cell;
      this.truncated = true;
      return cell.slice(0, most).toWellFormed();
    }
    if (typeof cell !== "object" || cell === null) return cell;
    const text = JSON.stringify(cell);
    return text.length <= most ? cell : this.#cut(text, most);
  }
}

/** 64-bit integers beyond a double and non-finite numbers as text, bytes as base64. */
export function cellOf(value: unknown): Json {
  switch (typeof value) {
    case "bigint": {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : value.toString();
    }
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "string":
      return value.toWellFormed();
    case "boolean":
      return value;
    default:
      if (value === null || value === undefined) return null;
      if (value instanceof Uint8Array)
        return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
      return value as Json;
  }
}
