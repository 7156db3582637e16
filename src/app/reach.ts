// Opens what calls reach: the guarded way out, native tools with their powers, upstream servers, webhooks.
import { dirname } from "node:path";
import { outsideOf } from "./outside.ts";
import { createValidators } from "../core/gate/validators.ts";
import { LOCAL_TENANT } from "../core/identity/bootstrap.ts";
import type { Egress } from "../reach/egress/egress.ts";
import { openEgress } from "../reach/egress/guard.ts";
import { rulesForOperator } from "../reach/egress/operator.ts";
import { exchangeThrough } from "../reach/models/exchange.ts";
import { openModelRecords, type ModelRecords } from "../reach/models/records.ts";
import type { OpenedWebhooks } from "../reach/webhooks/index.ts";
import type { Health } from "../server/doors.ts";
import { idsOf } from "../telemetry/call-log.ts";
import type { Base } from "./base.ts";
import type { OpenedGovernance } from "./governance.ts";
import { healthOf } from "./health.ts";
import type { OpenedIdentity } from "./identity.ts";
import type { OpenedLimits } from "./limits.ts";
import { requireFolderApart } from "./protected-paths.ts";
import { openPowers, type OpenedPowers } from "./powers.ts";
import type { OpenedRecord } from "./record.ts";
import type { Telemetry } from "./telemetry.ts";
import { openToolDrafts, type OpenedToolDrafts } from "./tool-drafts.ts";
import { openUpstream, type OpenedUpstream } from "./upstream.ts";
import { webhooksOf } from "./webhooks.ts";

export interface OpenedReach {
  readonly health: Health;
  readonly powers: OpenedPowers;
  readonly upstream: OpenedUpstream;
  readonly toolDrafts: OpenedToolDrafts;
  readonly webhooks: OpenedWebhooks;
  readonly models: ModelRecords;
}

export interface ReachParts {
  readonly record: OpenedRecord;
  readonly telemetry: Telemetry;
  readonly governance: OpenedGovernance;
  readonly identity: OpenedIdentity;
  readonly limits: OpenedLimits;
}

export async function openReach(base: Base, parts: ReachParts): Promise<OpenedReach> {
  const { settings, options, links, closing } = base;
  const { record, governance } = parts;
  const egress = openEgress({
    ownPorts: () =>
      settings.localUrl === "" ? [] : [Number(new URL(settings.localUrl).port || 80)],
    ...options.egress,
  });
  closing.defer(() => egress.close());
  const webhooks = await webhooksFor(base, record, egress);
  const health = healthOf(
    governance.parts,
    governance.allowlist,
    links.sandbox.get,
    record.relay.report,
    () => links.breakers.get().figures().length,
  );
  const models = await modelsFor(base, parts, egress);
  const powers = await powersOf(base, parts, { egress, health, models });
  closing.defer(() => powers.close());
  links.sandbox.set(powers.sandbox);
  const upstream = upstreamFor(base, parts, { egress, powers });
  closing.defer(() => upstream.close());
  // Before everything it could still send about is closed.
  closing.defer(() => webhooks.close());
  const toolDrafts = await openToolDrafts(base, parts, powers);
  return { health, powers, upstream, toolDrafts, webhooks, models };
}

function webhooksFor(
  { config, store, dataDir, serverSecret, settings, ids, now }: Base,
  { note, masker, log }: OpenedRecord,
  egress: Egress,
): Promise<OpenedWebhooks> {
  return webhooksOf(config, {
    store,
    egress,
    serverSecret,
    instanceId: dataDir.instanceId,
    ids,
    now,
    note,
    masked: masker.shownText,
    report: (message, fields) => log.warn(fields, message),
    linkTo: (id) => `${settings.baseUrl}/a/${id}`,
    presented: (id) => store.approvals.presented([id], now()),
    tenantId: LOCAL_TENANT,
  });
}

/** Models of the settings become records; what administrators add stands beside them. */
async function modelsFor(
  { config, store, serverSecret, now }: Base,
  { record, governance }: ReachParts,
  egress: Egress,
): Promise<ModelRecords> {
  const { follower } = governance;
  const models = openModelRecords({
    store,
    settings: config.models,
    serverSecret,
    know: (secret) => record.masker.know(secret),
    env: process.env,
    exchange: (signal) => exchangeThrough({ egress, rulesFor: rulesForOperator, signal }),
    now,
    note: record.note,
    changed: () => follower.changed("models"),
    houseTenant: LOCAL_TENANT,
  });
  follower.on("models", models.forget);
  await models.importSettings();
  return models;
}

function powersOf(
  { config, options, store, dataDir, serverSecret, registry, links, ids, now }: Base,
  { record, telemetry, governance, identity, limits }: ReachParts,
  {
    egress,
    health,
    models,
  }: { readonly egress: Egress; readonly health: Health; readonly models: ModelRecords },
): Promise<OpenedPowers> {
  const { standing } = links;
  return openPowers({
    config,
    store,
    tracing: telemetry.tracing,
    governance: governance.governance,
    egress,
    models,
    registry,
    dataDir: dataDir.path,
    mode: record.mode,
    engine: links.engine.get,
    health: health.check,
    logRing: record.logRing,
    masker: record.masker,
    machine: options.machine,
    serverSecret,
    ids,
    now,
    log: record.log,
    work: {
      instanceId: dataDir.instanceId,
      note: record.note,
      use: limits.modelUse,
      mask: (text) => record.masker.text(text),
      holdsSecret: (text) => record.masker.result(text).masked > 0,
      isOutside: outsideOf(config.workspace),
      ...(options.model ? { model: options.model } : {}),
      callerAgain: (mandate) => identity.identity.again(mandate),
      watch: (caller, changed) => standing.get().watch(caller, changed),
      onEnded: () => standing.get().ended(),
      validate: (schema, value) => createValidators().check(schema, value),
    },
  });
}

function upstreamFor(
  base: Base,
  { record, telemetry, governance, identity }: ReachParts,
  { egress, powers }: { readonly egress: Egress; readonly powers: OpenedPowers },
): OpenedUpstream {
  const { config, options, store, dataDir, registry, settings, validators, ids, now } = base;
  const { masker, note, background, log } = record;
  return openUpstream({
    configured: {
      servers: config.mcpServers,
      folder: options.configFile ? dirname(options.configFile) : process.cwd(),
    },
    store,
    registry,
    directory: identity.directory,
    relations: governance.relations,
    follower: governance.follower,
    sandbox: powers.sandbox,
    guard: {
      requireApart: (folder) => requireFolderApart(config, options, folder),
      hold: powers.holdFolder,
    },
    egress,
    tracing: telemetry.tracing,
    masker,
    serverSecret: base.serverSecret,
    onStatus: governance.visibility.changed,
    dataDir: dataDir.path,
    baseUrl: () => settings.baseUrl,
    tenantId: LOCAL_TENANT,
    checkOutput: (schema, output) => validators.checkForeign(schema, output),
    ids,
    now,
    note,
    background,
    log,
    report: (call, cause) =>
      log.error(
        { err: cause, ...idsOf(call), tool: call.tool?.name },
        "an upstream call failed unexpectedly",
      ),
  });
}
