// The hash chain as the files have it, recounted from the description in docs/audit.md with nothing of the server's
// code.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

interface Row {
  readonly seq: number;
  readonly tenant_id: string;
  readonly instance_id: string;
  readonly n: number;
  readonly prev_hash: string;
  readonly hash: string;
  readonly at_ms: number;
  readonly action: string;
  readonly actor: string;
  readonly execution_id: string | null;
  readonly body: string;
}

interface Head {
  readonly n: number;
  readonly hash: string;
}

const BROKEN_ENOUGH = 5;

/** Remembers how far it has read, so that each round costs what the round wrote. */
export class ChainReader {
  readonly #file: string;
  readonly #heads = new Map<string, Head>();
  #seq = 0;
  #events = 0;

  constructor(dataDir: string) {
    this.#file = join(dataDir, "ostiary.db");
  }

  get events(): number {
    return this.#events;
  }

  /** What is wrong with the events since the last time. */
  read(): string[] {
    const database = new DatabaseSync(this.#file, { readOnly: true });
    const faults: string[] = [];
    try {
      const rows = database
        .prepare("SELECT * FROM events WHERE seq > ? ORDER BY seq")
        .iterate(this.#seq);
      for (const row of rows as Iterable<unknown> as Iterable<Row>) {
        faults.push(...this.#add(row));
        if (faults.length >= BROKEN_ENOUGH) break;
      }
      return faults;
    } finally {
      database.close();
    }
  }

  #add(row: Row): string[] {
    const chain = `${row.tenant_id} ${row.instance_id}`;
    const head = this.#heads.get(chain) ?? { n: 0, hash: "0".repeat(64) };
    const faults: string[] = [];
    if (row.seq !== this.#seq + 1) faults.push(`event ${row.seq} follows ${this.#seq}`);
    if (row.n !== head.n + 1)
      faults.push(`event ${row.seq}: number ${row.n} follows ${head.n} in its chain`);
    if (row.prev_hash !== head.hash)
      faults.push(`event ${row.seq} is not linked to the one before`);
    const hash = hashOf(row);
    if (hash !== row.hash) faults.push(`event ${row.seq} was changed after it was written`);
    this.#seq = row.seq;
    this.#events++;
    this.#heads.set(chain, { n: row.n, hash });
    return faults;
  }
}

function hashOf(row: Row): string {
  const facts = {
    v: 1,
    seq: row.seq,
    tenantId: row.tenant_id,
    instanceId: row.instance_id,
    n: row.n,
    prevHash: row.prev_hash,
    at: row.at_ms,
    action: row.action,
    actor: row.actor,
    executionId: row.execution_id,
  };
  const text = `${JSON.stringify(facts).slice(0, -1)},"body":${row.body}}`;
  return createHash("sha256").update(text).digest("hex");
}
