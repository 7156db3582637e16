// The files an installation starts with: imported once, and again when they change and nobody has published since.
import { AppError } from "../../contract/errors.ts";
import type { Store } from "../../storage/store/store.ts";
import { changesOf, hashOfFiles } from "./changes.ts";
import type { DocumentsPowers } from "./documents.ts";
import { notValid, NOUN } from "./faults.ts";
import {
  DOCUMENT_KINDS,
  type DocumentKind,
  type DocumentVersion,
} from "../../contract/document.ts";
import { type DocumentFault, type DocumentHandler } from "../rules/governance.ts";

type Files = Readonly<Record<string, string>>;

export interface ImportPowers extends Pick<DocumentsPowers, "handlers" | "now" | "warn"> {
  readonly store: Pick<Store, "documents" | "facts">;
  readonly note: (
    action: `${DocumentKind}.changed`,
    body: Record<string, unknown>,
  ) => Promise<void>;
}

/** Who made a version that was read from files. */
const IMPORTER = "import";

interface Plan {
  readonly kind: DocumentKind;
  readonly files: Files;
  readonly hash: string;
  readonly former: DocumentVersion | null;
}

/** Before the documents start. Refuses with every fault of every file; then nothing is imported. */
export async function importDocuments(
  p: ImportPowers,
  files: Readonly<Record<DocumentKind, Files>>,
): Promise<void> {
  const plans: Plan[] = [];
  for (const kind of DOCUMENT_KINDS) {
    const plan = await planOf(p, kind, files[kind]);
    if (plan) plans.push(plan);
  }
  const faults: DocumentFault[] = [];
  for (const { kind, files: fresh } of plans) faults.push(...(await checked(p, kind, fresh)));
  if (faults.length > 0) throw notValid("folder of governance files", faults);
  for (const plan of plans) await carryOut(p, plan);
}

async function planOf(p: ImportPowers, kind: DocumentKind, files: Files): Promise<Plan | null> {
  const hash = hashOfFiles(files);
  const former = await p.store.documents.inState(kind, "enforced");
  if (former === null) return { kind, files, hash, former };
  const imported = await p.store.facts.get(factOf(kind));
  if (imported === hash || former.hash === hash) return null;
  if (former.createdBy === IMPORTER && former.hash === imported)
    return { kind, files, hash, former };
  const changes = changesOf(former.files, files);
  p.warn(
    { kind, version: former.version, changes },
    `the files of the ${NOUN[kind]} have changed, but version ${former.version} by ${former.createdBy} is in force and stays so; publish the files to use them`,
  );
  return null;
}

async function checked(
  p: ImportPowers,
  kind: DocumentKind,
  files: Files,
): Promise<readonly DocumentFault[]> {
  const handler: DocumentHandler = p.handlers[kind];
  if (Object.keys(files).length === 0)
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      `The folder of governance files has no ${NOUN[kind]}`,
      { remedy: "start from a copy of the folder that comes with Ostiary" },
    );
  const faults = await handler.check(files);
  return faults.filter(({ severity }) => severity !== "warning");
}

async function carryOut(p: ImportPowers, { kind, files, hash, former }: Plan): Promise<void> {
  const note = former ? "the files have changed" : "first start";
  const at = p.now();
  const { version } = await p.store.documents.create({
    kind,
    state: "enforced",
    files,
    hash,
    note,
    createdBy: IMPORTER,
    createdAt: at,
    enforcedAt: at,
  });
  await p.store.facts.set(factOf(kind), hash);
  const changes = former
    ? changesOf(former.files, files)
    : Object.keys(files).map((file) => `${file}: new`);
  await p.note(`${kind}.changed`, {
    how: IMPORTER,
    as: "enforced",
    version,
    former: former?.version ?? null,
    hash,
    note,
    changes,
  });
}

const factOf = (kind: DocumentKind): string => `documents.imported.${kind}`;
