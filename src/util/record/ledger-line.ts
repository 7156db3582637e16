// One event of the ledger as one line of JSON: the keys in this order, no blanks, the body as it was written, the
// hash last. The hash is the SHA-256 of the line without it, so that the line can be checked with nothing
// but a hash program.
import { hash } from "node:crypto";

export interface LedgerEvent {
  /** Number in the whole log. */
  readonly seq: number;
  readonly tenantId: string;
  /** Who wrote it. A chain is what one server wrote for one tenant. */
  readonly instanceId: string;
  /** Number in its chain, from 1, without gaps. */
  readonly n: number;
  /** Hash of the event before it in its chain; zeros for the first. */
  readonly prevHash: string;
  readonly at: number;
  readonly action: string;
  readonly actor: string;
  readonly executionId: string | null;
  /** JSON text. */
  readonly body: string;
}

export const NO_HASH = "0".repeat(64);
const VERSION = 1;

/** Most events are of the tenant and by the actor of the one before. */
function quoting(): (text: string) => string {
  let [last, quoted] = ["", '""'];
  return (text) => {
    if (text !== last) [last, quoted] = [text, JSON.stringify(text)];
    return quoted;
  };
}
const [tenant, instance, actor] = [quoting(), quoting(), quoting()];

/** What is hashed. */
export function ledgerText(e: LedgerEvent): string {
  return `{"v":${VERSION},"seq":${e.seq},"tenantId":${tenant(e.tenantId)},"instanceId":${instance(e.instanceId)},"n":${e.n},"prevHash":"${e.prevHash}","at":${e.at},"action":"${e.action}","actor":${actor(e.actor)},"executionId":${e.executionId === null ? "null" : JSON.stringify(e.executionId)},"body":${e.body}}`;
}

/**
 * The same line without what only the database knows: the parts before `n` and from behind the previous hash to the
 * body. The whole is `{"v":1,"seq":` seq `before` n `,"prevHash":"` hash `after` body `}`.
 */
export function ledgerParts(e: Omit<LedgerEvent, "seq" | "n" | "prevHash">): {
  before: string;
  after: string;
} {
  const executionId = e.executionId === null ? "null" : JSON.stringify(e.executionId);
  return {
    before: `,"tenantId":${tenant(e.tenantId)},"instanceId":${instance(e.instanceId)},"n":`,
    after: `","at":${e.at},"action":"${e.action}","actor":${actor(e.actor)},"executionId":${executionId},"body":`,
  };
}

export const ledgerHash = (text: string): string => hash("sha256", text);

/** The text with its hash: a line of an export. */
export const withHash = (text: string, digest: string): string =>
  `${text.slice(0, -1)},"hash":"${digest}"}`;
