// Records as the entries of a file: every field that a file may say, and no others.
import type { ModelView } from "../../reach/models/records.ts";
import type { CapsuleRow, PersonaRow } from "../../storage/store/store.ts";
import type { CapsuleEntry, ModelEntry, PersonaEntry } from "./schema.ts";

export const capsuleEntry = (
  row: Omit<CapsuleRow, "id" | "tenantId" | "version" | "parent" | "createdAt" | "updatedAt">,
): CapsuleEntry => ({
  name: row.name,
  status: row.status,
  default: row.isDefault,
  listing: row.listing,
  capabilities: [...row.capabilities],
  systemPrompt: row.systemPrompt,
  imageModel: row.imageModel,
  voiceModel: row.voiceModel,
  transcriptionModel: row.transcriptionModel,
  visionModel: row.visionModel,
  embeddingModel: row.embeddingModel,
  diagram: row.diagram,
  agentConfig: structuredClone(row.agentConfig) as CapsuleEntry["agentConfig"],
});

export const modelEntry = (
  row: Pick<ModelView, "settings" | "keyReference" | "enabled" | "position">,
): ModelEntry => ({
  settings: structuredClone(row.settings) as NonNullable<ModelEntry["settings"]>,
  ...(row.keyReference === null ? {} : { keyReference: row.keyReference }),
  enabled: row.enabled,
  position: row.position,
});

export const personaEntry = (
  row: Pick<PersonaRow, "name" | "prompt" | "traits" | "knobs" | "capabilities">,
): PersonaEntry => ({
  name: row.name,
  prompt: row.prompt,
  traits: { ...row.traits },
  knobs: { ...row.knobs },
  capabilities: row.capabilities && [...row.capabilities],
});

const AT_ONCE = 100;

/** All pages of a list. */
export async function rowsOf<R extends { readonly id: string }>(
  list: (page: { limit: number; after?: string }) => Promise<R[]>,
): Promise<R[]> {
  const rows: R[] = [];
  for (;;) {
    const after = rows.at(-1)?.id;
    const page = await list({ limit: AT_ONCE, ...(after === undefined ? {} : { after }) });
    rows.push(...page);
    if (page.length < AT_ONCE) return rows;
  }
}
