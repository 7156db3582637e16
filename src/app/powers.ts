// Opens the powers of native tools. The rules of each power live in core/run/powers/.
import { join } from "node:path";
import { fill } from "../reach/browser/fill.ts";
import { matchesSchema } from "../reach/browser/matches-schema.ts";
import { openBrowsers } from "../reach/browser/sessions.ts";
import type { AgentModel } from "../agents/agents.ts";
import type { Drafts } from "../agents/drafts/drafts.ts";
import type { TestBox } from "../agents/drafts/test-box.ts";
import type { Questions } from "../agents/questions.ts";
import { createPrograms } from "../reach/code/programs.ts";
import type { Config } from "../config/config.ts";
import type { Mode, Outcome } from "../contract/call.ts";
import type { EffectOf } from "../contract/effect.ts";
import { sourcesOf, type TaintSource } from "../contract/taint.ts";
import { openDatabases } from "../reach/databases/database.ts";
import { sandboxedDocuments } from "../reach/documents/sandboxed.ts";
import type { Egress } from "../reach/egress/egress.ts";
import { hostMatches } from "../reach/egress/hosts.ts";
import { rulesForOperator } from "../reach/egress/operator.ts";
import type { Governance } from "../governance/rules/governance.ts";
import { SCRATCH_FOLDER } from "../governance/rules/workspaces.ts";
import { openModels } from "../reach/models/model.ts";
import type { ModelRecords } from "../reach/models/records.ts";
import { assetsPower } from "../core/run/powers/assets.ts";
import { browserPower } from "../core/run/powers/browser.ts";
import { namedByCapsules } from "../core/run/powers/capsule-models.ts";
import { clockPower } from "../core/run/powers/clock.ts";
import { openCompute } from "../core/run/powers/compute.ts";
import { codePrograms, PROGRAM_WORK } from "../core/run/powers/code.ts";
import { createDocumentation, packagedDocs } from "../core/run/powers/documentation.ts";
import { databasePower } from "../core/run/powers/database.ts";
import { documentsPower } from "../core/run/powers/documents.ts";
import { enginePower, type EngineSettings } from "../core/run/powers/engine.ts";
import { fetchPower } from "../core/run/powers/fetch.ts";
import { searchPower } from "../core/run/powers/fetch/search.ts";
import { filesPower } from "../core/run/powers/files.ts";
import { searchThreads } from "../core/run/powers/files/search-threads.ts";
import { sweepScratch } from "../core/run/powers/files/sweep.ts";
import { hostPower, type HostSettings } from "../core/run/powers/host.ts";
import type { LogRing } from "../core/run/powers/host/logs.ts";
import type { Machine } from "../core/run/powers/host/machine.ts";
import { modelPower } from "../core/run/powers/model.ts";
import { effectPreview } from "../core/run/powers/preview/effect.ts";
import { previewFolder, sweepPreviews } from "../core/run/powers/preview/folder.ts";
import { processPower } from "../core/run/powers/process.ts";
import { holdFolder, type HeldFolder } from "../core/run/powers/process/hold.ts";
import { tenantPackages } from "../core/run/powers/process/packages.ts";
import { openStaging, recoverRuns } from "../core/run/powers/process/workspace.ts";
import { nativePowers, type PowersFor } from "../core/run/powers/index.ts";
import { openVault } from "../core/run/powers/secrets.ts";
import { storePower } from "../core/run/powers/store.ts";
import { openSandbox, type Sandbox } from "../reach/sandbox/sandbox.ts";
import { openSearch } from "../reach/web-search/web-search.ts";
import { openAssets, type Assets } from "../storage/assets/assets.ts";
import type { Store } from "../storage/store/store.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import type { Registry } from "../tools/registry.ts";
import type { Ids } from "../util/ids.ts";
import type { Masker } from "../util/secrets/masker.ts";
import { VERSION } from "../util/version.ts";
import { openTogether } from "./open-together.ts";
import { ownerFinder } from "./call-owner.ts";
import { openWork, type Work, type WorkParts } from "./work.ts";

export interface PowersParts {
  readonly config: Config;
  readonly store: Store;
  readonly governance: Governance;
  readonly registry: Pick<Registry, "get" | "all" | "register" | "put">;
  readonly dataDir: string;
  readonly models: Pick<ModelRecords, "source">;
  /** The one way out; closed by the part that opened it. */
  readonly egress: Egress;
  /** The operating mode at the moment. */
  readonly mode: () => Mode;
  /** A function, since the engine is opened after the tools it runs. */
  readonly engine: () => EngineSettings;
  /** What `/readyz` asks. */
  readonly health: HostSettings["health"];
  readonly logRing: LogRing;
  readonly masker: Pick<Masker, "valueInSlices">;
  /** Absent: the one this process runs on. */
  readonly machine?: Machine | undefined;
  readonly tracing: Pick<Tracing, "client">;
  readonly work: WorkParts;
  readonly serverSecret: string;
  readonly ids: Ids;
  readonly now: () => number;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export interface OpenedPowers {
  readonly powersFor: PowersFor;
  readonly effectOf: EffectOf;
  readonly questions: Questions;
  readonly drafts: Drafts;
  readonly box: TestBox;
  /** Programs, always in the sandbox; drafted tools run there. */
  readonly process: ReturnType<typeof processPower>;
  /** What goes on beside single calls: runs of workflows, their schedules. */
  readonly work: Pick<
    Work,
    "runs" | "schedules" | "callEnded" | "approvalDecided" | "recoverLost" | "start"
  >;
  readonly assets: Assets;
  /** What chat turns ask. */
  readonly model: AgentModel;
  readonly hasModel: (tenantId: string) => Promise<boolean>;
  readonly sandbox: Sandbox;
  /** For programs that keep writing in a folder of the host. */
  readonly holdFolder: (path: string) => Promise<HeldFolder>;
  /** Ends what still runs for tools, last opened first. */
  close(): Promise<void>;
}

/** Most that a program may leave behind in a workspace that it does not work in directly. */
const STAGED_LIMITS = { files: 50_000, bytes: 1_073_741_824, inPlace: 200_000 };

export const openPowers = (p: PowersParts): Promise<OpenedPowers> =>
  openTogether((closing) => openParts(p, closing));

async function openParts(
  p: PowersParts,
  closing: AsyncDisposableStack,
): Promise<Omit<OpenedPowers, "close">> {
  const machine = await openMachine(p, closing);
  const assets = openAssets({
    assets: p.store.assets,
    mostBytesPerUser: p.config.assets.maxMbPerUser * 1_048_576,
    ids: p.ids,
    now: p.now,
  });
  const { model, answering } = modelFor(p);
  const web = openWeb(p, closing, machine, answering);
  const databases = await openDatabases({
    connections: p.config.databases,
    store: p.config.store,
    dataDir: p.dataDir,
    workspace: p.config.workspace,
  });
  closing.defer(() => databases.close());
  const compute = openCompute();
  closing.defer(() => compute.close());
  const snippets = createPrograms();
  closing.defer(() => snippets.close());
  const brings = (outcome: Outcome): readonly TaintSource[] =>
    sourcesOf(outcome, p.registry.get(outcome.toolName), p.work.isOutside);
  const work = await openWork({
    ...p.work,
    brings,
    configured: answering,
    registry: p.registry,
    process: machine.process,
    store: p.store,
    engine: p.engine,
    ids: p.ids,
    now: p.now,
    log: p.log,
  });
  closing.defer(() => work.close());
  const programs = codePrograms({
    threads: snippets,
    store: p.store,
    engine: p.engine,
    work: () => work.items,
    callerAgain: p.work.callerAgain,
    ownerOf: ownerFinder(p.store, p.work.instanceId),
    onEnded: p.work.onEnded,
    serverSecret: p.serverSecret,
    ids: p.ids,
    now: p.now,
  });
  const clock = clockPower(p.now);
  const powersFor = nativePowers({
    ...work.sources,
    ...web,
    files: machine.files,
    assets: assetsPower(assets),
    process: machine.process,
    documents: documentsPower(machine.documents),
    model,
    database: databasePower({ databases }),
    store: storePower({
      memory: p.store.memory,
      documentation: createDocumentation(packagedDocs()),
      now: p.now,
    }),
    engine: enginePower(p.engine, p.now, brings),
    code: programs.power,
    compute: compute.power,
    host: hostFor(p),
    clock: () => clock,
  });
  const { sandbox, holdFolder: hold } = machine;
  const effectOf = effectPreview({
    rulesFor: fileRules(p),
    folder: previewFolder(p.dataDir),
    databases,
    governance: p.governance,
    mode: p.mode,
    harmless: { compute: compute.power, clock: () => clock, secrets: web.secrets },
    servers: p.store.servers,
    masker: p.masker,
  });
  await sweepPreviews(p.dataDir);
  return {
    powersFor,
    effectOf,
    questions: work.questions,
    drafts: work.drafts,
    box: work.box,
    process: machine.process,
    work: {
      ...work,
      approvalDecided(executionId) {
        work.approvalDecided(executionId);
        programs
          .decided(executionId)
          .catch((cause: unknown) =>
            p.log.error({ err: cause }, "a program could not be told of a decision"),
          );
      },
      start() {
        work.items.serve(PROGRAM_WORK, programs.advance);
        return work.start();
      },
    },
    assets,
    sandbox,
    holdFolder: hold,
    model: p.work.model ?? model,
    hasModel: async (tenantId) => (p.work.model ?? (await answering(tenantId))) !== null,
  };
}

/** Files and programs: the sandbox, the folders that runs are staged in, and who may touch what. */
async function openMachine(p: PowersParts, closing: AsyncDisposableStack) {
  const disarmed = await recoverRuns(p.dataDir);
  if (disarmed.length > 0)
    p.log.warn(
      { paths: disarmed },
      "a run that was cut off had made git repositories: they were renamed",
    );
  // Opened first and so closed last: what still runs has its folders there.
  const staging = openStaging(p.dataDir);
  closing.defer(() => staging.close());
  const sandbox = openSandbox({
    folder: join(p.dataDir, "sandbox"),
    path: process.env["PATH"] ?? "",
    limits: {
      diskBytes: p.config.sandbox.diskMb * 1_048_576,
      diskEntries: p.config.sandbox.diskEntries,
    },
  });
  closing.defer(() => sandbox.close());
  await sweepScratch(join(p.dataDir, SCRATCH_FOLDER), p.now());
  const threads = searchThreads();
  closing.defer(() => threads.close());
  const rulesFor = fileRules(p);
  const files = filesPower({ rulesFor, threads, sandbox });
  const programs = processPower({
    sandbox,
    egress: p.egress,
    rulesFor,
    files,
    staging,
    hostsFor: (call) => p.governance.hostsFor(call),
    isVariableDenied: (name) => p.governance.isVariableDenied(name),
    packages: tenantPackages(p.dataDir, staging, p.config.packages),
    limits: STAGED_LIMITS,
    node: process.execPath,
  });
  return {
    sandbox,
    files,
    process: programs,
    documents: sandboxedDocuments(sandbox),
    holdFolder: (path: string): Promise<HeldFolder> => holdFolder(path, staging),
  };
}

const fileRules =
  (p: PowersParts): HostSettings["rulesFor"] =>
  (call) =>
    p.governance.filesFor(call);

type Model = ReturnType<typeof modelPower>;
/** The power, while the tenant has a model that answers; records come and go at run time. */
type Answering = (tenantId: string) => Promise<Model | null>;

function modelFor(p: PowersParts): { readonly model: Model; readonly answering: Answering } {
  const model = modelPower({
    models: openModels((tenantId) => p.models.source(tenantId)),
    egress: p.egress,
    rulesFor: rulesForOperator,
    named: namedByCapsules(p.store.capsules),
    tracing: p.tracing,
    now: p.now,
  });
  const answering: Answering = async (tenantId) =>
    Object.values(await p.models.source(tenantId)).some(({ abilities }) =>
      abilities.includes("generate"),
    )
      ? model
      : null;
  return { model, answering };
}

/** What leads to the web: requests, searches, the browser, and the secrets they may send. */
function openWeb(
  p: PowersParts,
  closing: AsyncDisposableStack,
  { sandbox, files, documents }: Awaited<ReturnType<typeof openMachine>>,
  model: Answering,
) {
  const browsers = openBrowsers({
    config: p.config.browser,
    sandbox,
    egress: p.egress,
    path: process.env["PATH"] ?? "",
    newId: () => `browser_${p.ids.hex(16)}`,
    report: (cause) => p.log.warn({ err: cause }, "a browser misbehaved"),
  });
  closing.defer(() => browsers.close());
  const vault = openVault(p.config.secrets);
  const search = searchPower({
    egress: p.egress,
    provider: () => openSearch(p.config.search),
    rulesFor: rulesForOperator,
  });
  const rulesFor = (call: Parameters<Governance["hostsFor"]>[0]) => p.governance.hostsFor(call);
  return {
    secrets: () => vault.power,
    fetch: fetchPower({ egress: p.egress, rulesFor, vault, search, documents, hostMatches }),
    browser: browserPower({
      browsers,
      files,
      documents,
      fill,
      fits: matchesSchema,
      now: p.now,
      model,
      rulesFor,
    }),
  };
}

const hostFor = (p: PowersParts) =>
  hostPower({
    name: "ostiary",
    version: VERSION,
    mode: p.mode,
    health: p.health,
    rulesFor: fileRules(p),
    dataDir: p.dataDir,
    log: p.logRing,
    visibleEnv: p.config.tools.visibleEnv,
    now: p.now,
    machine: p.machine,
  });
