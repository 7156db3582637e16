// Policies, governance files and the relation schema with their versions: checked, applied, stored, audited, in this
// order.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Follower } from "../../storage/store/follow.ts";
import type { Action, Store } from "../../storage/store/store.ts";
import { changesOf, hashOfFiles } from "./changes.ts";
import {
  DOCUMENT_KINDS,
  type DocumentKind,
  type DocumentVersion,
} from "../../contract/document.ts";
import { type DocumentFault, type DocumentHandler, type Documents } from "../rules/governance.ts";

export interface DocumentsPowers {
  readonly store: Pick<Store, "documents">;
  readonly follower: Pick<Follower, "on" | "changed">;
  readonly note: (action: Action, actor: Actor, body: Record<string, unknown>) => Promise<void>;
  readonly handlers: Readonly<Record<DocumentKind, DocumentHandler>>;
  readonly now: () => number;
  readonly warn: (fields: object, message: string) => void;
}

type Actor = Pick<Caller, "tenantId" | "userId">;
type Held = "enforced" | "shadow";

export interface StartedDocuments extends Documents {
  /** Makes effective what the store says, now and whenever another instance changes it. */
  start(): Promise<void>;
  /** After a version has taken effect here, whoever published it. */
  onApplied(listener: (kind: DocumentKind, state: Held) => void): void;
}

const PAGE = 100;

export function createDocuments(p: DocumentsPowers): StartedDocuments {
  const applied = new Map<string, DocumentVersion | null>();
  const turns = new Map<DocumentKind, Promise<unknown>>();
  const listeners: ((kind: DocumentKind, state: Held) => void)[] = [];
  const { documents } = p.store;

  /** One change of a kind at a time: two people who publish at once are served one after the other. */
  const inTurn = <T>(kind: DocumentKind, work: () => Promise<T>): Promise<T> => {
    const next = (turns.get(kind) ?? Promise.resolve()).then(work);
    turns.set(
      kind,
      next.catch(() => undefined),
    );
    return next;
  };

  const apply = async (
    kind: DocumentKind,
    state: Held,
    document: DocumentVersion | null,
  ): Promise<void> => {
    const known = applied.get(`${kind} ${state}`) ?? null;
    if (known?.version === document?.version) return;
    await p.handlers[kind].apply(state, document);
    applied.set(`${kind} ${state}`, document);
    for (const listener of listeners) listener(kind, state);
  };

  const sync = async (kind: DocumentKind): Promise<void> => {
    for (const state of ["enforced", "shadow"] as const)
      await apply(kind, state, await documents.inState(kind, state));
  };

  const found = async (kind: DocumentKind, version: number): Promise<DocumentVersion> => {
    const document = await documents.get(kind, version);
    if (document) return document;
    throw new AppError("NOT_FOUND", "unknown", `There is no ${NOUN[kind]} of version ${version}`, {
      remedy: "list the versions first",
    });
  };

  /** After the store has it, and before anybody is told that it is done. */
  const tell = async (
    actor: Actor,
    kind: DocumentKind,
    body: Record<string, unknown>,
  ): Promise<void> => {
    await p.note(`${kind}.changed`, actor, body);
    await p.follower.changed(kind);
  };

  const publish = async (
    actor: Actor,
    document: DocumentVersion,
    as: Held,
    how: string,
  ): Promise<DocumentVersion> => {
    const { kind, version, files, hash, note } = document;
    if (document.state === as) return document;
    if (document.state === "enforced")
      throw invalid(
        "/as",
        `version ${version} is enforced already`,
        "put another version on trial",
      );
    const faults = await p.handlers[kind].check(files);
    if (faults.some(isGrave)) throw notValid(NOUN[kind], faults.filter(isGrave));
    const former = await documents.inState(kind, as);
    await apply(kind, as, document);
    const stored = await documents
      .setState(kind, version, as, p.now())
      .catch(async (cause: unknown) => {
        await apply(kind, as, former);
        throw cause;
      });
    // What was on trial and is enforced now is on trial no more.
    await sync(kind);
    const changes = former ? changesOf(former.files, files) : [];
    await tell(actor, kind, {
      how,
      as,
      version,
      former: former?.version ?? null,
      hash,
      note,
      changes,
    });
    return stored ?? (await found(kind, version));
  };

  const formerly = async (kind: DocumentKind): Promise<DocumentVersion> => {
    let last: DocumentVersion | null = null;
    for (let before: number | undefined; ;) {
      const rows = await documents.list(kind, {
        limit: PAGE,
        ...(before === undefined ? {} : { before }),
      });
      for (const row of rows)
        if (row.state !== "enforced" && (row.enforcedAt ?? 0) > (last?.enforcedAt ?? 0)) last = row;
      before = rows.at(-1)?.version;
      if (rows.length < PAGE) break;
    }
    if (last) return last;
    throw new AppError(
      "CONFLICT",
      "stale",
      `No other version of the ${NOUN[kind]} was ever enforced`,
      { remedy: "publish another version instead" },
    );
  };

  return {
    list: (kind, page) => documents.list(kind, page),
    get: found,
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
      inTurn(kind, async () => publish(actor, await found(kind, version), as, "publish")),
    unshadow: (actor, kind) =>
      inTurn(kind, async () => {
        const trial = await documents.inState(kind, "shadow");
        if (trial === null) return;
        await documents.setState(kind, trial.version, "retired", p.now());
        await apply(kind, "shadow", null);
        await tell(actor, kind, { how: "end of trial", as: "retired", version: trial.version });
      }),
    rollback: (actor, kind, version) =>
      inTurn(kind, async () => {
        const target = version === undefined ? await formerly(kind) : await found(kind, version);
        if (target.enforcedAt === null)
          throw invalid(
            "/version",
            `version ${target.version} was never enforced`,
            "publish it instead",
          );
        return publish(actor, target, "enforced", "rollback");
      }),
    onApplied: (listener) => void listeners.push(listener),
    async start() {
      for (const kind of DOCUMENT_KINDS) {
        p.follower.on(kind, () => inTurn(kind, () => sync(kind)));
        await inTurn(kind, () => sync(kind)).catch((cause: unknown) => {
          // An engine that is out refuses every call until it answers; that is no reason not to start.
          if (!(cause instanceof AppError) || cause.code !== "UNAVAILABLE") throw cause;
          p.warn({ kind, err: cause }, `the ${NOUN[kind]} is not in force yet`);
        });
      }
    },
  };
}

export const NOUN: Readonly<Record<DocumentKind, string>> = {
  policy: "policy",
  governance: "governance",
  relations: "relation schema",
};

const isGrave = ({ severity }: DocumentFault): boolean => severity !== "warning";

const placeOf = ({ file, line, column }: DocumentFault): string => `${file}:${line}:${column}`;

/** Every fault with its place, one per line. */
export function notValid(what: string, faults: readonly DocumentFault[]): AppError {
  const lines = faults.map((fault) => `  ${placeOf(fault)} ${fault.message}`).join("\n");
  return new AppError("BAD_REQUEST", "invalid_input", `The ${what} is not valid:\n${lines}`, {
    remedy: "correct the places that are named; nothing was changed",
    errors: faults.map((fault) => ({ path: placeOf(fault), message: fault.message })),
  });
}

function invalid(path: string, message: string, suggestion: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", message, {
    remedy: suggestion,
    errors: [{ path, message, suggestion }],
  });
}
