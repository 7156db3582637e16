// Which model the capsules of a caller name for an ability: the caller's own first, then the others it acts through.
import type { CapsuleSettings } from "../../../contract/agent-config.ts";
import type { Caller } from "../../../contract/call.ts";
import type { Ability } from "../../../reach/models/config.ts";
import type { Store } from "../../../storage/store/store.ts";

export interface NamedModel {
  readonly model: string;
  /** Where it is named, for people. */
  readonly field: string;
}

/** Null: none of them names one. `sees`: the conversation has pictures. */
export type NamedModels = (
  caller: Pick<Caller, "tenantId" | "capsuleId" | "also">,
  ability: Ability,
  sees: boolean,
) => Promise<NamedModel | null>;

type Field = (capsule: CapsuleSettings) => string | null;

const FIELDS: Readonly<Record<Ability, readonly (readonly [name: string, field: Field])[]>> = {
  generate: [["agentConfig.chatModel", ({ agentConfig }) => agentConfig.chatModel]],
  embed: [["embeddingModel", ({ embeddingModel }) => embeddingModel]],
  image: [["imageModel", ({ imageModel }) => imageModel]],
  look: [["visionModel", ({ visionModel }) => visionModel]],
  transcribe: [["transcriptionModel", ({ transcriptionModel }) => transcriptionModel]],
  speak: [["voiceModel", ({ voiceModel }) => voiceModel]],
};

export const namedByCapsules =
  (capsules: Pick<Store["capsules"], "get">): NamedModels =>
  async ({ tenantId, capsuleId, also = [] }, ability, sees) => {
    // A conversation with pictures goes to the model that reads pictures, where one is named.
    const fields = sees ? [...FIELDS.look, ...FIELDS[ability]] : FIELDS[ability];
    for (const id of capsuleId === null ? also : [capsuleId, ...also]) {
      const capsule = await capsules.get(id);
      if (capsule?.tenantId !== tenantId || capsule.status !== "active") continue;
      for (const [name, field] of fields) {
        const model = field(capsule);
        if (model !== null) return { model, field: `${name} of capsule ${id}` };
      }
    }
    return null;
  };
