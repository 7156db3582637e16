// Opens the engine: the gate with its approvals, the runners, and the watch over callers' rights.
import { createEngine, type Engine } from "../core/engine/engine.ts";
import { openCall } from "../core/engine/open-call.ts";
import type { GatePowers } from "../core/gate/index.ts";
import { cutToSize } from "../core/record/cut.ts";
import { createIdempotency } from "../core/record/idempotency.ts";
import { refuseHeld } from "../core/record/refuse-held.ts";
import { createActive, type Active } from "../core/run/active.ts";
import { cachedRunners } from "../core/run/cache.ts";
import type { Runners } from "../core/run/index.ts";
import { nativeRunner } from "../core/run/native.ts";
import { resilientRunner } from "../core/run/resilient.ts";
import { hasForeignSchema } from "../contract/tool.ts";
import { createApprovals, type ApprovalParts } from "../governance/approvals/index.ts";
import { idsOf } from "../telemetry/call-log.ts";
import type { Base } from "./base.ts";
import { countDecision, gaugeSources } from "./gauges.ts";
import { ownerFinder } from "./call-owner.ts";
import type { OpenedReach, ReachParts } from "./reach.ts";
import { openRightsWatch, type RightsWatch } from "./rights-watch.ts";
import { reportEnds } from "./call-ends.ts";

export interface OpenedEngine {
  readonly engine: Engine;
  readonly gate: GatePowers;
  readonly active: Active;
  readonly approvals: ApprovalParts;
  readonly standing: RightsWatch;
}

export interface EngineParts extends ReachParts {
  readonly reach: OpenedReach;
}

/** What was listed is asked anew before a second has passed: rights may also run out by themselves. */
const SHOWN_MS = 800;

export function openEngine(base: Base, parts: EngineParts): OpenedEngine {
  const { config, store, metrics, registry, links, closing, now } = base;
  const { record, telemetry, governance, identity, limits, reach } = parts;
  const { upstream } = reach;
  const { background, history, log } = record;
  const active = createActive();
  const approvals = approvalsFor(base, parts);
  closing.defer(() => approvals.close());
  const standing = openRightsWatch({
    identity: identity.identity,
    active,
    closeOver: approvals.closeOver,
    now,
    background,
    report: (message, fields) => log.warn(fields, message),
  });
  closing.defer(() => standing.close());
  links.standing.set(standing);
  identity.onRightsChanged(standing.changed);
  const gate = gateFor(base, parts, approvals.approvals);
  metrics.watch(
    gaugeSources({
      active: () => active.size,
      slots: limits.slots,
      maxRunning: config.execution.maxRunning,
      mode: record.mode,
      approvals: store.approvals,
      sandbox: reach.powers.sandbox,
      outboxPending: record.relay.pending,
      upstreams: upstream.figures,
      tools: () => links.breakers.get().figures(),
    }),
  );
  const report = reportEnds(metrics, governance.mode);
  const engine = createEngine({
    registry,
    gate,
    recorder: record.recorder,
    refusals: record.refusals,
    idempotency: createIdempotency(store, now, record.whole),
    runners: runnersFor(base, parts),
    effectOf: reach.powers.effectOf,
    slots: limits.slots,
    active,
    approvals: approvals.approvals,
    metrics,
    onEnded(call, outcome) {
      report(call, outcome);
      reach.powers.work.callEnded(call, outcome);
    },
    observe: telemetry.observe,
    now,
    masker: record.masker,
    maxTimeoutMs: config.execution.maxTimeoutMs,
    open: callOpener(base, parts),
    recordOf: (caller, id) => history.get(caller, id),
    auditedOf: (caller, id) => history.audited(caller, id),
    visibleStamp: () => visibleStamp(base, parts),
    prepare: upstream.upstreams.checkAhead,
    isUnreachable: (tool) => tool.route !== null && upstream.isAway(tool.route.server),
    cancelElsewhere: openCancels(active, parts, background, closing),
    background,
  });
  links.engine.set(engine);
  return { engine, gate, active, approvals, standing };
}

/** Cancels from and to other instances; a lost notice leaves the execution running. */
function openCancels(
  active: Active,
  { governance: { state } }: EngineParts,
  background: (work: Promise<unknown>) => void,
  closing: Base["closing"],
): ((executionId: string) => void) | null {
  if (state.kind === "memory") return null;
  closing.defer(state.subscribe(CANCELS, (id) => active.get(id)?.abort("user")));
  return (executionId) => background(Promise.resolve(state.publish(CANCELS, executionId)));
}

const CANCELS = "cancels";

function approvalsFor(base: Base, parts: EngineParts): ApprovalParts {
  const { config, store, dataDir, metrics, registry, validators, links, ids, now } = base;
  const { record, governance, identity, reach } = parts;
  const { masker, note, log, recovery } = record;
  return createApprovals({
    store,
    serverSecret: base.serverSecret,
    policyVersion: () => governance.policies.version,
    governance: governance.governance,
    relations: governance.relations,
    registry,
    validate: (tool, args) =>
      hasForeignSchema(tool)
        ? validators.checkForeign(tool.inputSchema, args)
        : validators.check(tool.inputSchema, args),
    callerAgain: (mandate) => identity.identity.again(mandate),
    isOwner: async ({ userId }) => (await store.users.get(userId))?.role === "admin",
    authenticates: config.server.authEnabled,
    ownerOf: ownerFinder(store, dataDir.instanceId),
    ids,
    masker,
    now,
    note,
    state: governance.state,
    resume: (id) => links.engine.get().resume(id),
    previewOf: (call) => links.engine.get().preview(call),
    refuse: refuseHeld({ store, now, onRecorded: recovery.onRecorded, masker }),
    notify(what, row) {
      if (what !== "decided") return;
      countDecision(metrics, row);
      reach.powers.work.approvalDecided(row.executionId);
    },
    report: (message, fields) => log.error(fields, message),
    cutToSize,
    maxPending: config.approvals.maxPendingPerCaller,
  });
}

function gateFor(
  { config, validators, now }: Base,
  { governance, identity, limits }: EngineParts,
  approvals: GatePowers["approvals"],
): GatePowers {
  return {
    toolsOn: config.features.mcpTools,
    providers: new Set(["native", "mcp", "external", "drafted"]),
    capsule: identity.capsules.find,
    relations: governance.relations,
    policies: governance.policies,
    allowlist: governance.allowlist,
    mode: governance.mode,
    governance: governance.governance,
    validators,
    rates: limits.rates,
    budgets: limits.budgets,
    approvals,
    now,
  };
}

function runnersFor(
  { config, metrics, validators, links, now }: Base,
  { record, governance, reach }: EngineParts,
): Runners {
  const { powersFor } = reach.powers;
  const { policies, governance: rules } = governance;
  const handlers = nativeRunner({
    powersFor: (needs, call) => powersFor(needs, call, call.signal),
    masker: record.masker,
    checkOutput: (schema, output) => validators.check(schema, output),
    report: (call, cause) =>
      record.log.error(
        { err: cause, ...idsOf(call), tool: call.tool?.name },
        "tool failed unexpectedly",
      ),
  });
  const native = resilientRunner(handlers, {
    background: record.background,
    onState: (tool, breaker) =>
      record.log.warn({ tool, breaker }, "the breaker of a tool changed its state"),
  });
  links.breakers.set(native);
  return cachedRunners(
    { native: native.run, drafted: reach.toolDrafts.runner, ...reach.upstream.runners },
    {
      seconds: config.execution.cacheSeconds,
      rules: () => [policies.version, rules.version],
      now,
      onHit: metrics.cacheHit,
    },
  );
}

/** Makes a call of a request: ids, trace, the resolved tool, its deadline. */
function callOpener(
  { config, registry, ids, now }: Base,
  { governance, telemetry: { tracing } }: EngineParts,
): Parameters<typeof createEngine>[0]["open"] {
  const powers = {
    registry,
    governance: governance.governance,
    ids,
    now,
    ...config.execution,
    ...(tracing.on ? { samples: tracing.samples } : {}),
  };
  return (caller, request) => openCall(caller, request, powers);
}

/** Equal texts: the same tools are visible to the same caller. */
function visibleStamp(
  { registry, now }: Base,
  { record, governance, identity, reach }: EngineParts,
): string | null {
  const { relations, policies, policyEngine } = governance;
  if (relations.revision === null || !policies.timeless) return null;
  return [
    registry.revision,
    identity.capsules.revision,
    relations.revision,
    policyEngine.revision,
    reach.upstream.revision(),
    record.mode(),
    Math.floor(now() / SHOWN_MS),
  ].join(" ");
}
