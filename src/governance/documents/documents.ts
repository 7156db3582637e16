// Policies, governance files and the relation schema with their versions: checked, applied, stored, audited, in this
// order.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Follower } from "../../storage/store/follow.ts";
import type { Action, Store } from "../../storage/store/store.ts";
import { hashOfFiles } from "./changes.ts";
import { DOCUMENT_KINDS, type DocumentKind } from "../../contract/document.ts";
import type { DocumentHandler, GovernanceDocuments } from "../rules/governance.ts";
import { createEffective, type Effective } from "./effective.ts";
import { NOUN } from "./faults.ts";
import { createPublisher } from "./publish.ts";

export interface DocumentsPowers {
  readonly store: Pick<Store, "documents">;
  readonly follower: Pick<Follower, "on" | "changed">;
  readonly note: (action: Action, actor: Actor, body: Record<string, unknown>) => Promise<void>;
  readonly handlers: Readonly<Record<DocumentKind, DocumentHandler>>;
  readonly now: () => number;
  readonly warn: (fields: object, message: string) => void;
}

export type Actor = Pick<Caller, "tenantId" | "userId">;

export interface StartedDocuments extends GovernanceDocuments {
  /** Makes effective what the store says, now and after each change by another instance. */
  start(): Promise<void>;
  /** After a version has taken effect here, no matter which instance published it. */
  onApplied: Effective["onApplied"];
}

export function createDocuments(p: DocumentsPowers): StartedDocuments {
  const { documents } = p.store;
  const effective = createEffective(p.handlers, documents);
  const publisher = createPublisher(p, effective);
  const turns = new Map<DocumentKind, Promise<unknown>>();

  /** One change of a kind at a time: two people who publish at once are served one after the other. */
  const inTurn = <T>(kind: DocumentKind, work: () => Promise<T>): Promise<T> => {
    const next = (turns.get(kind) ?? Promise.resolve()).then(work);
    turns.set(
      kind,
      next.catch(() => undefined),
    );
    return next;
  };

  return {
    list: (kind, page) => documents.list(kind, page),
    get: publisher.found,
    async enforced(kind) {
      const document = await documents.inState(kind, "enforced");
      if (document) return document;
      throw new AppError("NOT_FOUND", "unknown", `No ${NOUN[kind]} is enforced`, {
        remedy: "publish a version",
      });
    },
    check: (kind, files) => p.handlers[kind].check(files),
    async draft(actor, kind, files, note) {
      const faults = await p.handlers[kind].check(files);
      const row = { kind, state: "draft", files, hash: hashOfFiles(files), note } as const;
      const document = await documents.create({
        ...row,
        createdBy: actor.userId,
        createdAt: p.now(),
        enforcedAt: null,
      });
      const { version, hash } = document;
      await p.note(`${kind}.changed`, actor, {
        how: "draft",
        as: "draft",
        version,
        hash,
        note,
        faults: faults.length,
      });
      return { document, faults };
    },
    publish: (actor, kind, version, as) =>
      inTurn(kind, () => publisher.publish(actor, kind, version, as)),
    unshadow: (actor, kind) => inTurn(kind, () => publisher.endTrial(actor, kind)),
    rollback: (actor, kind, version) =>
      inTurn(kind, () => publisher.rollback(actor, kind, version)),
    onApplied: effective.onApplied,
    async start() {
      for (const kind of DOCUMENT_KINDS) {
        p.follower.on(kind, () => inTurn(kind, () => effective.sync(kind)));
        await inTurn(kind, () => effective.sync(kind)).catch((cause: unknown) => {
          // An engine that is out refuses every call until it answers; that is no reason not to start.
          if (!(cause instanceof AppError) || cause.code !== "UNAVAILABLE") throw cause;
          p.warn({ kind, err: cause }, `the ${NOUN[kind]} is not in force yet`);
        });
      }
    },
  };
}
