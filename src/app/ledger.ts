// Opens the ledger with its key, and verifies the ledger of a stopped server.
import type { JsonObject } from "../contract/call.ts";
import type { Config } from "../config/config.ts";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { openDataDir, type DataDir } from "../storage/data-dir.ts";
import { AppError } from "../contract/errors.ts";
import { checkpointFile } from "../storage/ledger/checkpoint-file.ts";
import { verifyLive, type LiveVerdict, type LiveVerify } from "../storage/ledger/live.ts";
import { segmentFiles } from "../storage/ledger/segments.ts";
import { openKey } from "../storage/ledger/key.ts";
import { createLedger, type Ledger } from "../storage/ledger/ledger.ts";
import type { DataDirSecrets } from "../storage/ledger/key.ts";
import { openStore, type Action, type Store } from "../storage/store/store.ts";

interface Parts {
  readonly store: Store;
  readonly dataDir: DataDirSecrets & Pick<DataDir, "path" | "instanceId" | "files">;
  readonly settings: Config["audit"];
  readonly now: () => number;
  readonly note: (action: Action, body: JsonObject) => Promise<void>;
  readonly log: { error(fields: object, message: string): void };
  readonly onRolledBack: () => void;
}

export function openLedger({
  store,
  dataDir,
  settings,
  now,
  note,
  log,
  onRolledBack,
}: Parts): Ledger {
  return createLedger({
    store,
    dataDir: dataDir.path,
    instanceId: dataDir.instanceId,
    files: dataDir.files,
    key: openKey(dataDir),
    now,
    settings,
    note,
    forget: (before) => store.executions.forgetBefore(before),
    report: (fields, message) => log.error(fields, message),
    onRolledBack,
  });
}

/** Checks the ledger of a data directory that no server uses. Nothing is written to it. */
export async function verifyOffline(
  config: Pick<Config, "dataDir" | "store">,
  question: LiveVerify,
): Promise<LiveVerdict> {
  const [, name] = /^sqlite:(.+)$/.exec(config.store) ?? [];
  if (name !== undefined && !existsSync(resolve(config.dataDir, name)))
    throw new AppError("NOT_FOUND", "unknown", `there is no ledger in ${config.dataDir}`, {
      remedy: "name the data directory with --data-dir, or an export with --file",
    });
  const dataDir = openDataDir(config.dataDir);
  try {
    const store = await openStore(config.store, {
      dataDir: dataDir.path,
      instanceId: dataDir.instanceId,
    });
    try {
      return await verifyLive(
        {
          store,
          segments: segmentFiles(dataDir.path),
          checkpointFile: checkpointFile(dataDir.path),
          instanceId: dataDir.instanceId,
        },
        question,
      );
    } finally {
      await store.close();
    }
  } finally {
    dataDir.release();
  }
}
