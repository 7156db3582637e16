// Changes of the effective versions: publishing, ending a trial, going back to an earlier version. Callers run one
// change of a kind at a time.
import type { DocumentKind, DocumentVersion } from "../../contract/document.ts";
import { AppError } from "../../contract/errors.ts";
import type { Store } from "../../storage/store/store.ts";
import { changesOf } from "./changes.ts";
import type { Actor, DocumentsPowers } from "./documents.ts";
import type { Effective, EffectiveState } from "./effective.ts";
import { invalid, isGrave, notValid, NOUN } from "./faults.ts";

export interface Publisher {
  /** NOT_FOUND for a version that does not exist. */
  found(kind: DocumentKind, version: number): Promise<DocumentVersion>;
  publish(
    actor: Actor,
    kind: DocumentKind,
    version: number,
    as: EffectiveState,
  ): Promise<DocumentVersion>;
  endTrial(actor: Actor, kind: DocumentKind): Promise<void>;
  rollback(actor: Actor, kind: DocumentKind, version: number | undefined): Promise<DocumentVersion>;
}

const PAGE = 100;

export function createPublisher(
  p: Omit<DocumentsPowers, "warn">,
  { apply, sync }: Effective,
): Publisher {
  const { documents } = p.store;

  const found = async (kind: DocumentKind, version: number): Promise<DocumentVersion> => {
    const document = await documents.get(kind, version);
    if (document) return document;
    throw new AppError("NOT_FOUND", "unknown", `There is no ${NOUN[kind]} of version ${version}`, {
      remedy: "list the versions first",
    });
  };

  /** After the store has the change, and before the actor gets the answer. */
  const announce = async (
    actor: Actor,
    kind: DocumentKind,
    body: Record<string, unknown>,
  ): Promise<void> => {
    await p.note(`${kind}.changed`, actor, body);
    await p.follower.changed(kind);
  };

  const put = async (
    actor: Actor,
    document: DocumentVersion,
    as: EffectiveState,
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
    await announce(actor, kind, {
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

  return {
    found,
    publish: async (actor, kind, version, as) =>
      put(actor, await found(kind, version), as, "publish"),
    async endTrial(actor, kind) {
      const trial = await documents.inState(kind, "shadow");
      if (trial === null) return;
      await documents.setState(kind, trial.version, "retired", p.now());
      await apply(kind, "shadow", null);
      await announce(actor, kind, { how: "end of trial", as: "retired", version: trial.version });
    },
    async rollback(actor, kind, version) {
      const target =
        version === undefined
          ? await lastEnforcedBefore(documents, kind)
          : await found(kind, version);
      if (target.enforcedAt === null)
        throw invalid(
          "/version",
          `version ${target.version} was never enforced`,
          "publish it instead",
        );
      return put(actor, target, "enforced", "rollback");
    },
  };
}

/** Of the versions that are not enforced now, the one that was enforced last. */
async function lastEnforcedBefore(
  documents: Store["documents"],
  kind: DocumentKind,
): Promise<DocumentVersion> {
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
}
