// Checks a stretch of the ledger line by line: hashes, links, numbers, signatures, and that nothing is missing.
import type { ChainHead } from "../store/store.ts";
import { NO_HASH } from "../../util/record/ledger-line.ts";
import { isSigned, keyIdOf } from "./key.ts";
import {
  checkpointText,
  lineHash,
  manifestText,
  type Checkpoint,
  type ExportedChain,
  type Manifest,
  type OldEvent,
  type Signed,
} from "./lines.ts";
import type { ChainedEvent, ParsedLine } from "./parse.ts";

/** What is wrong, in one sentence without a place; the reader of the lines knows the place. */
export class LedgerFault extends Error {
  /** Sequence number of the first event it concerns, where one can be named. */
  readonly seq: number | null;
  constructor(message: string, seq: number | null = null) {
    super(message);
    this.seq = seq;
  }
}

export interface LedgerCheckOptions {
  /** Public keys (SPKI, base64) that may have signed; absent: any, and they are listed in the result. */
  readonly keys?: readonly string[];
  /** Signed elsewhere and kept outside: each head it names must be found. */
  readonly anchors?: readonly (Checkpoint & Signed)[];
  /** Heads that were noted elsewhere, to be found as well. */
  readonly heads?: readonly ChainHead[];
  /** Where chains stood before the first line, when that is not the beginning of the log. */
  readonly before?: readonly ExportedChain[];
  /** Number before the first event. */
  readonly after?: number;
  /** One tenant's events alone: then numbers may be left out, and there are no checkpoints. */
  readonly tenant?: string | null;
}

export interface Findings {
  readonly events: number;
  readonly unchained: number;
  readonly checkpoints: number;
  readonly from: number;
  readonly to: number;
  readonly chains: number;
  /** Hash of the newest event. */
  readonly head: string | null;
  readonly keyIds: readonly string[];
  /** Heads named by anchors that were found, and those outside of this stretch. */
  readonly anchored: number;
  readonly unanchored: number;
  /** Events that say that the database had been put back to an older state. */
  readonly rollbacks: readonly number[];
}

interface Chain {
  readonly tenantId: string;
  readonly instanceId: string;
  readonly first: { readonly n: number; readonly prevHash: string };
  n: number;
  seq: number;
  hash: string;
  count: number;
  /** Not yet named by a checkpoint. */
  uncovered: boolean;
}

const keyOf = (tenantId: string, instanceId: string): string =>
  JSON.stringify([tenantId, instanceId]);
const short = (hash: string): string => `${hash.slice(0, 12)}…`;

export class LedgerCheck {
  readonly #options: LedgerCheckOptions;
  readonly #chains = new Map<string, Chain>();
  readonly #known = new Map<string, { n: number; hash: string }>();
  readonly #checkpoints = new Map<string, { n: number; line: string }>();
  readonly #wanted = new Map<string, { hash: string; seq: number; who: string }>();
  readonly #keyIds = new Set<string>();
  readonly #rollbacks: number[] = [];
  #manifest: Manifest | null = null;
  #tenant: string | null;
  #from = 0;
  #last: number;
  #head: string | null = null;
  #events = 0;
  #unchained = 0;
  #marks = 0;
  #anchored = 0;

  constructor(options: LedgerCheckOptions = {}) {
    this.#options = options;
    this.#tenant = options.tenant ?? null;
    this.#last = options.after ?? 0;
    for (const { tenantId, instanceId, last } of options.before ?? [])
      this.#known.set(keyOf(tenantId, instanceId), last);
    for (const { tenantId, instanceId, n, hash, seq } of options.heads ?? [])
      this.#wanted.set(`${keyOf(tenantId, instanceId)}${n}`, {
        hash,
        seq,
        who: "the table of heads",
      });
    for (const anchor of options.anchors ?? [])
      this.#signed(checkpointText(anchor, anchor), anchor, "the anchor");
  }

  /** Of the newest event so far. */
  get seq(): number {
    return this.#last;
  }

  get manifest(): Manifest | null {
    return this.#manifest;
  }

  line(parsed: ParsedLine): void {
    if (parsed.kind === "event") this.#event(parsed.event);
    else if (parsed.kind === "old") this.#old(parsed.event);
    else if (parsed.kind === "checkpoint") this.#checkpoint(parsed.checkpoint, parsed.line);
    else throw new LedgerFault("a second manifest");
  }

  /** The first line of an export: the rest is compared with its numbers. */
  begin(manifest: Manifest & Signed): void {
    this.#signed(manifestText(manifest, manifest), manifest, "the manifest");
    this.#manifest = manifest;
    this.#tenant = manifest.tenant;
    this.#last = manifest.from - 1;
    for (const { tenantId, instanceId, first } of manifest.chains) {
      if (first.n === 1 ? first.prevHash !== NO_HASH : manifest.from <= 1)
        throw new LedgerFault(`the manifest lets the chain of ${tenantId} begin in the middle`);
      this.#known.set(keyOf(tenantId, instanceId), { n: first.n - 1, hash: first.prevHash });
    }
    this.#expect(manifest);
  }

  /** To be called before the first line where there is no manifest. */
  beginLive(): void {
    this.#expect(null);
  }

  /** An anchor that is newer than the export can say nothing about it. */
  #expect(manifest: Manifest | null): void {
    for (const { instanceId, at, chains } of this.#options.anchors ?? []) {
      if (manifest && manifest.at < at) continue;
      for (const { tenantId, n, hash, seq } of chains) {
        if (this.#tenant !== null && this.#tenant !== tenantId) continue;
        this.#wanted.set(`${keyOf(tenantId, instanceId)}${n}`, { hash, seq, who: "the anchor" });
      }
    }
  }

  #signed(text: string, by: Signed, what: string): void {
    if (by.keyId !== keyIdOf(by.publicKey))
      throw new LedgerFault(`${what} names a key id that is not of its key`);
    if (!isSigned(text, by.publicKey, by.signature))
      throw new LedgerFault(`the signature of ${what} is not valid`);
    const { keys } = this.#options;
    if (keys && !keys.includes(by.publicKey))
      throw new LedgerFault(
        `${what} is signed by key ${by.keyId}, expected ${keys.map(keyIdOf).join(" or ")}`,
      );
    this.#keyIds.add(by.keyId);
  }

  #number(seq: number): void {
    if (seq <= this.#last && this.#events > 0)
      throw new LedgerFault(`event ${seq} stands after event ${this.#last}`, seq);
    const next = this.#last + 1;
    if (this.#tenant === null && seq !== next)
      throw new LedgerFault(
        seq > next
          ? `${seq - next === 1 ? `event ${next} is` : `events ${next} to ${seq - 1} are`} missing`
          : `event ${seq} stands where ${next} belongs`,
        Math.min(next, seq),
      );
    if (seq < next)
      throw new LedgerFault(`event ${seq} lies before the beginning, which is ${next}`, seq);
    if (this.#events === 0) this.#from = seq;
    this.#last = seq;
    this.#events++;
  }

  #ofTenant(tenantId: string, seq: number): void {
    if (this.#tenant !== null && tenantId !== this.#tenant)
      throw new LedgerFault(`event ${seq} is of another tenant`, seq);
  }

  #event(event: ChainedEvent): void {
    const { seq, tenantId, instanceId, n, prevHash, hash, recounted } = event;
    this.#ofTenant(tenantId, seq);
    this.#number(seq);
    if (hash !== recounted)
      throw new LedgerFault(
        `the content of event ${seq} does not give its hash: recounted ${short(recounted)}, it says ${short(hash)}`,
        seq,
      );
    const key = keyOf(tenantId, instanceId);
    const chain = this.#chains.get(key);
    const before = chain ?? this.#known.get(key) ?? { n: 0, hash: NO_HASH };
    if (n !== before.n + 1)
      throw new LedgerFault(
        `event ${seq} is number ${n} of its chain, expected ${before.n + 1}`,
        seq,
      );
    if (prevHash !== before.hash)
      throw new LedgerFault(
        `event ${seq} is not linked to the one before it: it says ${short(prevHash)}, that one is ${short(before.hash)}`,
        seq,
      );
    this.#find(`${key}${n}`, hash, seq);
    if (chain) Object.assign(chain, { n, seq, hash, count: chain.count + 1, uncovered: true });
    else
      this.#chains.set(key, {
        tenantId,
        instanceId,
        first: { n, prevHash },
        n,
        seq,
        hash,
        count: 1,
        uncovered: true,
      });
    this.#head = hash;
    if (event.action === "audit.rolled_back") this.#rollbacks.push(seq);
  }

  #old({ seq, tenantId }: OldEvent): void {
    this.#ofTenant(tenantId, seq);
    if (this.#chains.size > 0)
      throw new LedgerFault(
        `event ${seq} has no place in a chain, though the ones before it have`,
        seq,
      );
    this.#number(seq);
    this.#unchained++;
  }

  #checkpoint(checkpoint: Checkpoint & Signed, line: string): void {
    const { instanceId, n, seq, prevHash, chains } = checkpoint;
    const what = `checkpoint ${n} of ${instanceId}`;
    if (this.#tenant !== null)
      throw new LedgerFault(`${what} does not belong into one tenant's export`);
    this.#signed(checkpointText(checkpoint, checkpoint), checkpoint, what);
    if (seq !== this.#last)
      throw new LedgerFault(
        `${what} belongs after event ${seq}, it stands after ${this.#last}`,
        Math.min(seq, this.#last),
      );
    const before = this.#checkpoints.get(instanceId);
    const wholeLog = this.#from <= 1;
    if (before ? n !== before.n + 1 : wholeLog && n !== 1)
      throw new LedgerFault(`${what} comes where ${before ? before.n + 1 : 1} belongs`, seq);
    if (before ? prevHash !== lineHash(before.line) : n === 1 && prevHash !== NO_HASH)
      throw new LedgerFault(`${what} is not linked to the one before it`, seq);
    for (const [index, head] of chains.entries()) {
      if (index > 0 && (chains[index - 1]?.tenantId ?? "") >= head.tenantId)
        throw new LedgerFault(`${what} names its chains out of order`, seq);
      this.#named(head, instanceId, what, wholeLog);
    }
    for (const chain of this.#chains.values())
      if (chain.instanceId === instanceId && chain.uncovered)
        throw new LedgerFault(`${what} leaves out the chain of ${chain.tenantId}`, chain.seq);
    this.#checkpoints.set(instanceId, { n, line });
    this.#marks++;
  }

  #named(
    { tenantId, n, seq, hash }: Checkpoint["chains"][number],
    instanceId: string,
    what: string,
    wholeLog: boolean,
  ): void {
    const key = keyOf(tenantId, instanceId);
    const chain = this.#chains.get(key);
    const at = chain ?? this.#known.get(key);
    if (!at) {
      // It has not moved: its next event must go on from here.
      if (wholeLog)
        throw new LedgerFault(`${what} names a chain of ${tenantId} that is not there`, seq);
      this.#known.set(key, { n, hash });
      return;
    }
    if (at.n !== n || at.hash !== hash || (chain && chain.seq !== seq))
      throw new LedgerFault(
        `${what} says that the chain of ${tenantId} stood at number ${n} (${short(hash)}, event ${seq}); here it stands at ${at.n} (${short(at.hash)})`,
        Math.min(seq, chain?.seq ?? seq),
      );
    if (chain) chain.uncovered = false;
  }

  #find(place: string, hash: string, seq: number): void {
    const wanted = this.#wanted.get(place);
    if (!wanted) return;
    if (wanted.hash !== hash)
      throw new LedgerFault(
        `event ${seq} is another than ${wanted.who} knows: expected ${short(wanted.hash)}, got ${short(hash)}`,
        seq,
      );
    this.#wanted.delete(place);
    if (wanted.who === "the anchor") this.#anchored++;
  }

  /** After the last line. `digest` is over all bytes after the manifest. */
  end(digest: string | null): Findings {
    if (this.#manifest && digest !== null) this.#complete(this.#manifest, digest);
    for (const { hash, seq, who } of this.#wanted.values())
      if (seq > this.#last || (seq >= this.#from && this.#events > 0))
        throw new LedgerFault(
          `${who} knows event ${seq} (${short(hash)}), which is not here: the end was cut off, or an older state was put back`,
          seq,
        );
    return {
      events: this.#events,
      unchained: this.#unchained,
      checkpoints: this.#marks,
      from: this.#from,
      to: this.#last,
      chains: this.#chains.size,
      head: this.#head,
      keyIds: [...this.#keyIds],
      anchored: this.#anchored,
      unanchored: this.#wanted.size,
      rollbacks: this.#rollbacks,
    };
  }

  #complete(manifest: Manifest, digest: string): void {
    const { events, unchained, checkpoints, to } = manifest;
    if (this.#events !== events)
      throw new LedgerFault(
        `the manifest promises ${events} events, ${this.#events} are here`,
        this.#last + 1,
      );
    if (this.#unchained !== unchained)
      throw new LedgerFault(
        `the manifest promises ${unchained} events without a chain, ${this.#unchained} are here`,
      );
    if (this.#marks !== checkpoints)
      throw new LedgerFault(
        `the manifest promises ${checkpoints} checkpoints, ${this.#marks} are here`,
      );
    if (manifest.tenant === null && this.#last !== to)
      throw new LedgerFault(
        `the manifest promises events to ${to}, they end at ${this.#last}`,
        this.#last + 1,
      );
    const spans = this.spans();
    if (JSON.stringify(spans) !== JSON.stringify(manifest.chains))
      throw new LedgerFault("the chains are others than the manifest says");
    if (digest !== manifest.digest)
      throw new LedgerFault("the bytes are others than the manifest says");
  }

  /** Each chain of this stretch: by tenant, then server. */
  spans(): ExportedChain[] {
    return [...this.#chains.values()]
      .map(({ tenantId, instanceId, first, n, hash, count }) => ({
        tenantId,
        instanceId,
        first,
        last: { n, hash },
        count,
      }))
      .sort((a, b) => order(a.tenantId, b.tenantId) || order(a.instanceId, b.instanceId));
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
