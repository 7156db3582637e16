// Opens what the gate decides with, in the order in which the parts need each other. Fails the start when one cannot.
import type { JsonObject } from "../contract/call.ts";
import type { Config } from "../config/config.ts";
import { createGovernanceHolder } from "../governance/documents/rules-document.ts";
import { createDocuments, type StartedDocuments } from "../governance/documents/documents.ts";
import { packagedFolder, readGovernanceFolder } from "../governance/rules/files/folder.ts";
import type { DocumentKind } from "../contract/document.ts";
import type { Governance } from "../governance/rules/governance.ts";
import { importDocuments } from "../governance/documents/import.ts";
import { workspacesOf } from "../governance/rules/workspaces.ts";
import { LOCAL_TENANT } from "../core/identity/bootstrap.ts";
import { createModeController } from "../governance/modes/controller.ts";
import { machineSensors } from "../governance/modes/machine.ts";
import type { ModeController } from "../governance/modes/mode.ts";
import { policyDocuments } from "../governance/policy/document.ts";
import { openPolicyEngine } from "../governance/policy/open.ts";
import { createPolicies } from "../governance/policy/policies.ts";
import type { Policies, PolicyEngine } from "../governance/policy/policy.ts";
import { relationsDocument, SCHEMA_FILE } from "../governance/relations/document.ts";
import { openRelations } from "../governance/relations/open.ts";
import type { Relations } from "../governance/relations/relation.ts";
import { openState } from "../storage/state/open.ts";
import type { State } from "../storage/state/state.ts";
import { createFollower, type Follower } from "../storage/store/follow.ts";
import type { Store } from "../storage/store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { GatePowers } from "../core/gate/index.ts";
import { openTogether } from "./open-together.ts";
import { SYSTEM, type RecordNote } from "./base.ts";
import { drafter } from "./draft.ts";

export interface EnginesPowers {
  readonly config: Config;
  readonly store: Store;
  readonly registry: Registry;
  readonly dataDir: string;
  readonly home: string;
  readonly configFiles: readonly string[];
  readonly now: () => number;
  /** Given in tests only: counters otherwise go by a clock that nobody sets. */
  readonly clock: { readonly now?: () => number };
  readonly note: RecordNote;
  readonly log: Log;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Texts that are tried out; what is absent stays as it is in force. */
export type DraftFiles = Partial<Readonly<Record<DocumentKind, Readonly<Record<string, string>>>>>;

export interface Engines {
  readonly state: State;
  readonly follower: Follower;
  readonly relations: Relations;
  readonly policyEngine: PolicyEngine;
  readonly policies: Policies;
  readonly governance: Governance;
  readonly documents: StartedDocuments;
  readonly mode: ModeController;
  /** The gate's engines with other rules in force, for a question only: nothing is stored or published. */
  draft(
    files: DraftFiles,
  ): Promise<Partial<Pick<GatePowers, "policies" | "governance" | "relations">>>;
  /** What must answer before the server is ready, by name. */
  readonly parts: readonly { readonly name: string; ping(): Promise<void> }[];
  close(): Promise<void>;
}

export const openEngines = (p: EnginesPowers): Promise<Engines> =>
  openTogether((closing) => openParts(p, closing));

async function openParts(
  p: EnginesPowers,
  closing: AsyncDisposableStack,
): Promise<Omit<Engines, "close">> {
  const { config, store, registry, now, log } = p;
  const folder = config.governance ?? packagedFolder();
  const files = readGovernanceFolder(folder);
  const state = await openState(config.state, {
    ...p.clock,
    onError: (err) => log.warn({ err }, "the state engine failed"),
  });
  closing.defer(() => state.close());
  const follower = createFollower({ store, state, now });
  closing.defer(() => follower.close());
  await follower.ready;

  // What the store has in force counts; the files are for the first start.
  const inForce = async (kind: "governance" | "relations") =>
    (await store.documents.inState(kind, "enforced")) ?? { version: 1, files: files[kind] };
  const schemaText = async (): Promise<string> =>
    (await inForce("relations")).files[SCHEMA_FILE] ?? "";
  const relations = await openRelations(config.relations, {
    store,
    now,
    schema: { load: schemaText },
    follower,
  });
  closing.defer(() => relations.close());
  const policyEngine = await openPolicyEngine(config.policy, { path: config.policyPath, now });
  closing.defer(() => policyEngine.close());
  const enforced = await inForce("governance");
  const surroundings = surroundingsOf(p, folder);
  const { governance, handler } = createGovernanceHolder(
    enforced.files,
    surroundings,
    String(enforced.version),
  );
  const documents = await startDocuments(p, { files, handler, policyEngine, relations, follower });
  if (relations.engine === "spicedb") await ensureSchema(relations, await schemaText());
  await followRegistry(registry, policyEngine);

  const parts = [
    { name: "store", ping: () => store.ping() },
    { name: "relation", ping: () => relations.ping() },
    { name: "policy", ping: () => policyEngine.ping() },
    { name: "state", ping: () => state.ping() },
  ];
  const mode = await createModeController({
    store,
    follower,
    note: p.note,
    governance: () => governance,
    machine: machineSensors({ dataDir: p.dataDir }),
    selfCheck: () => failing(parts),
    tenantId: LOCAL_TENANT,
    now,
    log,
  });
  closing.defer(() => mode.close());
  follower.on("tools", () => registry.reload());
  return {
    draft: drafter({
      store,
      relations,
      registry,
      policyPath: config.policyPath,
      now,
      enforced: documents.enforced,
      governanceOf: (texts) => createGovernanceHolder(texts, surroundings, "draft").governance,
    }),
    state,
    follower,
    relations,
    policyEngine,
    policies: createPolicies(policyEngine, () => follower.assertFresh()),
    governance,
    documents,
    mode,
    parts,
  };
}

/** Folders and names of this installation that governance files may refer to. */
function surroundingsOf(
  { config, home, dataDir, configFiles, registry }: EnginesPowers,
  governanceDir: string,
) {
  const { workspace, workspacePerSession } = config;
  return {
    workspace,
    home,
    dataDir,
    configFiles,
    governanceDir,
    ...workspacesOf({ workspace, workspacePerSession, dataDir, localTenant: LOCAL_TENANT }),
    defaultPerMinute: config.rateLimit.requestsPerMinute ?? null,
    known: {
      tools: () => registry.all().map((tool) => tool.name),
      tool: (name: string) => registry.get(name),
      servers: () => [],
    },
  };
}

/** Takes over the files at a first start, and applies what is in force. */
async function startDocuments(
  { config, store, now, note, log }: EnginesPowers,
  given: {
    readonly files: ReturnType<typeof readGovernanceFolder>;
    readonly handler: ReturnType<typeof createGovernanceHolder>["handler"];
    readonly policyEngine: PolicyEngine;
    readonly relations: Relations;
    readonly follower: Follower;
  },
): Promise<StartedDocuments> {
  const handlers = {
    governance: given.handler,
    policy: policyDocuments({
      engine: given.policyEngine,
      starter: readGovernanceFolder(packagedFolder()).policy,
      path: config.policyPath,
      now,
    }),
    relations: relationsDocument(() => given.relations, store.documents),
  };
  const warn = (fields: object, message: string): void => log.warn(fields, message);
  await importDocuments(
    {
      store,
      handlers,
      now,
      warn,
      note: (action, body) => note(action, SYSTEM, body as JsonObject),
    },
    given.files,
  );
  const documents = createDocuments({
    store,
    follower: given.follower,
    handlers,
    now,
    warn,
    note: (action, actor, body) => note(action, actor, body as JsonObject),
  });
  await documents.start();
  return documents;
}

/** A new SpiceDB has no schema yet. Another schema is replaced by ours, unless the server refuses. */
async function ensureSchema(relations: Relations, text: string): Promise<void> {
  const there = await relations.schema().catch(() => "");
  if (there.trim() !== text.trim()) await relations.writeSchema(text);
}

/** Keeps `data.tools` of the policies equal to the registry. */
async function followRegistry(registry: Registry, policy: PolicyEngine): Promise<void> {
  const setTools = (): void | Promise<void> =>
    policy.setTools(
      Object.fromEntries(registry.all().map((tool) => [tool.name, { enabled: tool.enabled }])),
    );
  // Neither engine rejects: the embedded one has it at once, OPA's retries until its server has it.
  const onChange = (): void => void Promise.resolve(setTools()).catch(() => undefined);
  registry.on("toolRegistered", onChange);
  registry.on("toolChanged", onChange);
  await setTools();
}

async function failing(parts: Engines["parts"]): Promise<string[]> {
  const names = await Promise.all(
    parts.map(({ name, ping }) =>
      ping().then(
        () => null,
        () => name,
      ),
    ),
  );
  return names.filter((name) => name !== null);
}
