// The lines of the ledger besides its events: keys in one order, no blanks, the signature last. What is signed is the
// line without it, as the hash of an event is over the event without it.
import { ledgerHash, ledgerText, withHash } from "../../util/record/ledger-line.ts";
import type { LedgerRow } from "../store/store.ts";
import type { LedgerKey } from "./key.ts";

export const EXPORT_VERSION = 1;
export const FORMATS = ["ndjson", "cloudevents"] as const;
export type Format = (typeof FORMATS)[number];

export interface NamedHead {
  readonly tenantId: string;
  readonly n: number;
  readonly seq: number;
  readonly hash: string;
}

/** The heads of one server's chains at one moment. Those that have not moved since the one before may be left out. */
export interface Checkpoint {
  readonly instanceId: string;
  /** From 1, without gaps, per server. */
  readonly n: number;
  readonly at: number;
  /** The newest event of this server. */
  readonly seq: number;
  /** SHA-256 of the line before it of this server; zeros for the first. */
  readonly prevHash: string;
  /** By tenant. */
  readonly chains: readonly NamedHead[];
}

export interface ExportedChain {
  readonly tenantId: string;
  readonly instanceId: string;
  readonly first: { readonly n: number; readonly prevHash: string };
  readonly last: { readonly n: number; readonly hash: string };
  readonly count: number;
}

/** First line of an export: what exactly it holds. */
export interface Manifest {
  readonly format: Format;
  /** Null: of all tenants. */
  readonly tenant: string | null;
  readonly from: number;
  readonly to: number;
  readonly events: number;
  readonly chains: readonly ExportedChain[];
  readonly checkpoints: number;
  /** Events that are older than the chain. */
  readonly unchained: number;
  /** SHA-256 over every byte after this line. */
  readonly digest: string;
  readonly at: number;
  readonly instanceId: string;
}

export interface Signed {
  readonly keyId: string;
  readonly publicKey: string;
  readonly signature: string;
}

type Signer = Omit<Signed, "signature">;

const chainText = ({ tenantId, n, seq, hash }: NamedHead): string =>
  `{"tenantId":${JSON.stringify(tenantId)},"n":${n},"seq":${seq},"hash":"${hash}"}`;
const spanText = ({ tenantId, instanceId, first, last, count }: ExportedChain): string =>
  `{"tenantId":${JSON.stringify(tenantId)},"instanceId":${JSON.stringify(instanceId)},"first":{"n":${first.n},"prevHash":"${first.prevHash}"},"last":{"n":${last.n},"hash":"${last.hash}"},"count":${count}}`;
const signerText = ({ keyId, publicKey }: Signer): string =>
  `"keyId":"${keyId}","publicKey":"${publicKey}"`;

export function checkpointText(c: Checkpoint, signer: Signer): string {
  return `{"v":${EXPORT_VERSION},"type":"checkpoint","instanceId":${JSON.stringify(c.instanceId)},"n":${c.n},"at":${c.at},"seq":${c.seq},"prevHash":"${c.prevHash}","chains":[${c.chains.map(chainText).join(",")}],${signerText(signer)}}`;
}

export function manifestText(m: Manifest, signer: Signer): string {
  return `{"v":${EXPORT_VERSION},"type":"export","format":"${m.format}","tenant":${JSON.stringify(m.tenant)},"from":${m.from},"to":${m.to},"events":${m.events},"chains":[${m.chains.map(spanText).join(",")}],"checkpoints":${m.checkpoints},"unchained":${m.unchained},"digest":"${m.digest}","at":${m.at},"instanceId":${JSON.stringify(m.instanceId)},${signerText(signer)}}`;
}

export const withSignature = (text: string, signature: string): string =>
  `${text.slice(0, -1)},"signature":"${signature}"}`;

export const signLine = (text: string, key: LedgerKey): string =>
  withSignature(text, key.sign(text));

/** An event as a line; one that is older than the chain has no place in it and no hash. */
export function eventLine(row: LedgerRow): string {
  const { instanceId, n, prevHash, hash } = row;
  if (instanceId === null || n === null || prevHash === null || hash === null) return oldText(row);
  return withHash(ledgerText({ ...row, instanceId, n, prevHash }), hash);
}

export type OldEvent = Pick<
  LedgerRow,
  "seq" | "tenantId" | "at" | "executionId" | "actor" | "body"
> & { readonly action: string };

export const oldText = (e: OldEvent): string =>
  `{"v":0,"seq":${e.seq},"tenantId":${JSON.stringify(e.tenantId)},"at":${e.at},"action":"${e.action}","actor":${JSON.stringify(e.actor)},"executionId":${JSON.stringify(e.executionId)},"body":${e.body}}`;

export const lineHash = (line: string): string => ledgerHash(line);
