// Opens the data directory with its lock, the metrics and the store: what is closed last.
import type { Config } from "../config/config.ts";
import { EXECUTE } from "../core/gate/index.ts";
import { createMetrics, type Metrics } from "../core/record/metrics.ts";
import { openDataDir, type DataDir } from "../storage/data-dir.ts";
import { openStore, type Store } from "../storage/store/store.ts";
import { VERSION } from "../util/version.ts";
import { requireProtectedApart } from "./protected-paths.ts";
import type { AppOptions } from "./options.ts";

export interface Storage {
  readonly dataDir: DataDir;
  readonly metrics: Metrics;
  readonly store: Store;
}

export async function openStorage(
  config: Config,
  options: AppOptions,
  closing: AsyncDisposableStack,
): Promise<Storage> {
  requireProtectedApart(config, options);
  const dataDir = openDataDir(config.dataDir);
  closing.defer(() => dataDir.release());
  // Again, now that the directory exists: a link may have been put in its place.
  requireProtectedApart(config, options);
  const metrics = createMetrics({
    version: VERSION,
    identityLabels: config.metrics.identityLabels,
    stages: EXECUTE.map(({ name }) => name),
  });
  closing.defer(() => metrics.close());
  const opened = await openStore(config.store, {
    dataDir: dataDir.path,
    instanceId: dataDir.instanceId,
    onCommit: metrics.committed,
    files: dataDir.files,
  });
  const store = options.wrapStore?.(opened) ?? opened;
  closing.defer(() => store.close());
  return { dataDir, metrics, store };
}
