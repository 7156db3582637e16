// Capsules, personas and models of a tenant as one file: exported, and imported after all of it was checked.
import type { AgentConfig } from "../../contract/agent-config.ts";
import type { Caller, Json, JsonObject } from "../../contract/call.ts";
import { AppError, faultOf, type FieldFault } from "../../contract/errors.ts";
import type { CapsuleAdmin } from "../../core/identity/capsule-admin.ts";
import type { PersonaAdmin } from "../../core/identity/persona-admin.ts";
import type { ModelAdmin } from "../../reach/models/records.ts";
import type { ServerAdmin } from "../../reach/upstream/admin/server-admin.ts";
import type { Action } from "../../storage/store/store.ts";
import { capsuleEntry, modelEntry, personaEntry, rowsOf } from "./entries.ts";
import { notValid } from "../yaml-file.ts";
import { readAgentFile, writeAgentFile } from "./file.ts";
import { planImport, type RecordChange } from "./plan.ts";

export interface AgentRecordsPowers {
  readonly directory: Pick<
    CapsuleAdmin,
    "listCapsules" | "getCapsule" | "createCapsule" | "updateCapsule" | "checkCapsule"
  > &
    Pick<PersonaAdmin, "listPersonas" | "createPersona" | "updatePersona" | "checkPersona">;
  readonly models: Pick<ModelAdmin, "list" | "create" | "update" | "check">;
  readonly servers: Pick<ServerAdmin, "add" | "checkNew">;
  /** Durable when it resolves. */
  readonly note: (action: Action, who: Caller, body: JsonObject) => Promise<void>;
}

export interface AgentImport {
  readonly text: string;
  /** What faults call it. */
  readonly file: string;
  /** Only says what would change. */
  readonly dryRun: boolean;
}

export interface AgentRecords {
  /** All of the tenant; with ids those capsules and the models they name. */
  export(actor: Caller, capsules?: readonly string[]): Promise<string>;
  /** All is checked before anything is written; throws with every fault and its line. */
  import(
    actor: Caller,
    request: AgentImport,
    signal: AbortSignal,
  ): Promise<readonly RecordChange[]>;
}

export function createAgentRecords(p: AgentRecordsPowers): AgentRecords {
  return {
    async export(actor, wanted) {
      const capsules = wanted
        ? await Promise.all([...new Set(wanted)].map((id) => p.directory.getCapsule(actor, id)))
        : await rowsOf((page) => p.directory.listCapsules(actor, page));
      const personas = wanted ? [] : await rowsOf((page) => p.directory.listPersonas(actor, page));
      const all = (await p.models.list(actor)).filter(({ source }) => source === "api");
      const named = wanted ? modelsOf(capsules.map(capsuleEntry), all) : null;
      const models = named ? all.filter(({ name }) => named.has(name)) : all;
      return writeAgentFile({
        models: sorted(models.map((row) => [row.name, modelEntry(row)])),
        capsules: sorted(capsules.map((row) => [row.id, capsuleEntry(row)])),
        personas: sorted(personas.map((row) => [row.id, personaEntry(row)])),
        sealed: models
          .filter(({ hasKey, keyReference }) => hasKey && keyReference === null)
          .map(({ name }) => name),
      });
    },
    async import(actor, { text, file, dryRun }, signal) {
      const read = readAgentFile(file, text);
      const faults: FieldFault[] = [];
      const steps = await planImport(actor, read, faults, p);
      if (faults.length > 0) throw notValid(file, faults);
      const changes = steps.map(({ change }) => change);
      const waiting = steps.filter(({ change }) => change.change !== "unchanged");
      if (dryRun || waiting.length === 0) return changes;
      const written: RecordChange[] = [];
      const report = (failed: RecordChange | null): Promise<void> =>
        p.note("config.changed", actor, summaryOf(file, written, failed));
      for (const { change, write } of waiting) {
        try {
          await write(signal);
        } catch (cause) {
          await report(change);
          throw interrupted(cause, change, written);
        }
        written.push(change);
      }
      await report(null);
      return changes;
    },
  };
}

/** Names of models that the capsules name, and of those that stand in for them. */
function modelsOf(
  capsules: readonly ReturnType<typeof capsuleEntry>[],
  all: readonly { readonly name: string; readonly settings: JsonObject }[],
): ReadonlySet<string> {
  const names = new Set<Json | undefined>(
    capsules.flatMap((one) => [
      (one.agentConfig as AgentConfig).chatModel,
      one.imageModel,
      one.voiceModel,
      one.transcriptionModel,
      one.visionModel,
      one.embeddingModel,
    ]),
  );
  for (const name of names) {
    const fallbacks = all.find((model) => model.name === name)?.settings["fallbacks"];
    if (Array.isArray(fallbacks)) for (const one of fallbacks as Json[]) names.add(one);
  }
  return names as ReadonlySet<string>;
}

const sorted = <T>(entries: (readonly [string, T])[]): Record<string, T> =>
  Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));

const nameOf = ({ kind, id }: RecordChange): string => `${kind} ${id}`;

function summaryOf(
  file: string,
  written: readonly RecordChange[],
  failed: RecordChange | null,
): JsonObject {
  const of = (word: RecordChange["change"]): string[] =>
    written.filter(({ change }) => change === word).map(nameOf);
  const fields = written
    .filter(({ change }) => change === "changed")
    .map((one) => [nameOf(one), one.fields.map(({ path }) => path)] as const);
  return {
    imported: file,
    created: of("created"),
    changed: Object.fromEntries(fields),
    ...(failed ? { failed: nameOf(failed) } : {}),
  };
}

/** A write failed although all was checked: what is written stays, and is named. */
function interrupted(cause: unknown, at: RecordChange, written: readonly RecordChange[]): AppError {
  const fault = faultOf(cause);
  const done = written.length === 0 ? "nothing" : written.map(nameOf).join(", ");
  return new AppError(
    fault.code,
    fault.reason,
    `${nameOf(at)} could not be written: ${fault.message}; written before it: ${done}`,
    { remedy: "import the file again once that is mended", cause },
  );
}
