// The ledger with its key, opened before the first event and closed after the last.
import type { JsonObject } from "../call.ts";
import type { Config } from "../config.ts";
import { openKey } from "../ledger/key.ts";
import { createLedger, type Ledger } from "../ledger/ledger.ts";
import type { DataDirSecrets } from "../ledger/key.ts";
import type { Action, Store } from "../store/store.ts";

interface Parts {
  readonly store: Store;
  readonly dataDir: DataDirSecrets & { readonly path: string; readonly instanceId: string };
  readonly settings: Config["audit"];
  readonly now: () => number;
  readonly note: (action: Action, body: JsonObject) => Promise<void>;
  readonly log: { error(fields: object, message: string): void };
  readonly onRolledBack: () => void;
}

export function openLedger({ store, dataDir, settings, now, note, log, onRolledBack }: Parts): Ledger {
  return createLedger({
    store,
    dataDir: dataDir.path,
    instanceId: dataDir.instanceId,
    key: openKey(dataDir),
    now,
    settings,
    note,
    forget: () => Promise.resolve(),
    report: (fields, message) => log.error(fields, message),
    onRolledBack,
  });
} // prettier-ignore
