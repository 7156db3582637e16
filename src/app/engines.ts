// Opens what the gate decides with, in the order in which the parts need each other. Fails the start when one cannot.
import type { Caller, JsonObject } from "../contract/call.ts";
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
import type { Action, Store } from "../storage/store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { GatePowers } from "../core/gate/index.ts";
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
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: JsonObject,
  ) => Promise<void>;
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

const SYSTEM: Pick<Caller, "tenantId" | "userId"> = { tenantId: LOCAL_TENANT, userId: "system" };

export async function openEngines(p: EnginesPowers): Promise<Engines> {
  const { config, store, registry, now, log } = p;
  const opened: { close(): void | Promise<void> }[] = [];
  const opens = <T extends { close(): void | Promise<void> }>(part: T): T => {
    opened.unshift(part);
    return part;
  };
  const close = async (): Promise<void> => {
    for (const part of opened.splice(0)) await part.close();
  };
  try {
    const folder = config.governance ?? packagedFolder();
    const files = readGovernanceFolder(folder);
    const state = opens(
      await openState(config.state, {
        ...p.clock,
        onError: (err) => log.warn({ err }, "the state engine failed"),
      }),
    );
    const follower = opens(createFollower({ store, state, now }));
    await follower.ready;

    // What the store has in force counts; the files are for the first start (C5).
    const inForce = async (kind: "governance" | "relations") =>
      (await store.documents.inState(kind, "enforced")) ?? { version: 1, files: files[kind] };
    const schemaText = async (): Promise<string> =>
      (await inForce("relations")).files[SCHEMA_FILE] ?? "";
    const relations = opens(
      await openRelations(config.relations, { store, now, schema: { load: schemaText }, follower }),
    );
    const policyEngine = opens(
      await openPolicyEngine(config.policy, { path: config.policyPath, now }),
    );
    const governed = await inForce("governance");
    const places = {
      workspace: config.workspace,
      home: p.home,
      dataDir: p.dataDir,
      configFiles: p.configFiles,
      governanceDir: folder,
      ...workspacesOf({
        workspace: config.workspace,
        workspacePerSession: config.workspacePerSession,
        dataDir: p.dataDir,
        localTenant: LOCAL_TENANT,
      }),
      defaultPerMinute: config.rateLimit.requestsPerMinute ?? null,
      known: {
        tools: () => registry.all().map((tool) => tool.name),
        tool: (name: string) => registry.get(name),
        servers: () => [],
      },
    };
    const { governance, handler } = createGovernanceHolder(
      governed.files,
      places,
      String(governed.version),
    );

    const handlers = {
      governance: handler,
      policy: policyDocuments({
        engine: policyEngine,
        starter: readGovernanceFolder(packagedFolder()).policy,
        path: config.policyPath,
        now,
      }),
      relations: relationsDocument(() => relations, store.documents),
    };
    const warn = (fields: object, message: string): void => log.warn(fields, message);
    await importDocuments(
      {
        store,
        handlers,
        now,
        warn,
        note: (action, body) => p.note(action, SYSTEM, body as JsonObject),
      },
      files,
    );
    const documents = createDocuments({
      store,
      follower,
      handlers,
      now,
      warn,
      note: (action, actor, body) => p.note(action, actor, body as JsonObject),
    });
    await documents.start();
    if (relations.engine === "spicedb") await ensureSchema(relations, await schemaText());
    await tellTools(registry, policyEngine);

    const parts = [
      { name: "store", ping: () => store.ping() },
      { name: "relation", ping: () => relations.ping() },
      { name: "policy", ping: () => policyEngine.ping() },
      { name: "state", ping: () => state.ping() },
    ];
    const mode = opens(
      await createModeController({
        store,
        follower,
        note: p.note,
        governance: () => governance,
        machine: machineSensors({ dataDir: p.dataDir }),
        selfCheck: () => failing(parts),
        tenantId: LOCAL_TENANT,
        now,
        log,
      }),
    );
    follower.on("tools", () => registry.reload());
    const draft = drafter({
      store,
      relations,
      registry,
      policyPath: config.policyPath,
      now,
      enforced: documents.enforced,
      governanceOf: (texts) => createGovernanceHolder(texts, places, "draft").governance,
    });
    return {
      draft,
      state,
      follower,
      relations,
      policyEngine,
      policies: createPolicies(policyEngine, () => follower.assertFresh()),
      governance,
      documents,
      mode,
      parts,
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}

/** A server that was just set up has no schema yet; one with another schema is brought to ours, or refuses. */
async function ensureSchema(relations: Relations, text: string): Promise<void> {
  const there = await relations.schema().catch(() => "");
  if (there.trim() !== text.trim()) await relations.writeSchema(text);
}

/** `data.tools` of the policies follows the registry. */
async function tellTools(registry: Registry, policy: PolicyEngine): Promise<void> {
  const tell = (): void | Promise<void> =>
    policy.setTools(
      Object.fromEntries(registry.all().map((tool) => [tool.name, { enabled: tool.enabled }])),
    );
  // Neither engine rejects: one answers at once, the other tries again until its server has it.
  const told = (): void => void Promise.resolve(tell()).catch(() => undefined);
  registry.on("toolRegistered", told);
  registry.on("toolChanged", told);
  await tell();
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
