// Opens what the gate decides with, and waits until it knows what the other instances did.
import { homedir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createAllowlist } from "../governance/rules/allowlist.ts";
import type { Allowlist } from "../governance/rules/governance.ts";
import type { Base } from "./base.ts";
import { openEngines, type Engines } from "./engines.ts";
import type { OpenedRecord } from "./record.ts";
import { createVisibility, type Visibility } from "./visibility.ts";

export interface OpenedGovernance extends Omit<Engines, "close"> {
  readonly allowlist: Allowlist;
  readonly visibility: Visibility;
}

const FRESH_MS = 20_000;

export async function openGovernance(base: Base, record: OpenedRecord): Promise<OpenedGovernance> {
  const { config, options, store, dataDir, registry, now, links, closing } = base;
  const { close, ...engines } = await openEngines({
    config,
    store,
    registry,
    now,
    clock: options.now ? { now: options.now } : {},
    note: record.note,
    log: record.log,
    dataDir: dataDir.path,
    home: homedir(),
    configFiles: [
      ...(options.configFile ? [options.configFile] : []),
      ...(options.secretFiles ?? []),
    ],
  });
  closing.defer(close);
  await untilFresh(engines.follower);
  record.useMode(engines.mode);
  links.policies.set(engines.policies);
  const allowlist = createAllowlist(
    { whitelist: config.tools.whitelist, toolsPolicy: config.features.toolsPolicy },
    (name) => registry.get(name)?.name ?? null,
  );
  return { ...engines, allowlist, visibility: visibilityOf(engines) };
}

function visibilityOf({
  relations,
  mode,
  documents,
}: Pick<Engines, "relations" | "mode" | "documents">): Visibility {
  const visibility = createVisibility();
  relations.onChange(visibility.changed);
  mode.onChange(visibility.changed);
  documents.onApplied((kind, state) =>
    kind !== "governance" && state === "enforced" ? visibility.changed() : undefined,
  );
  return visibility;
}

/** On a busy machine the follower may be late. A start waits for it; a call is denied instead. */
async function untilFresh(follower: Pick<Engines["follower"], "assertFresh">): Promise<void> {
  for (const until = performance.now() + FRESH_MS; ; await sleep(50)) {
    try {
      return follower.assertFresh();
    } catch (cause) {
      if (performance.now() > until) throw cause;
    }
  }
}
