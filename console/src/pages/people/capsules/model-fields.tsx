// Which models an agent of the capsule asks, and how.
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Check, Select, TextField } from "../../../ui/field.tsx";
import type { AgentPartProps } from "./agent-form.tsx";

const MODELS = [
  ["chatModel", "Chat"],
  ["visionModel", "Images, to look at"],
  ["imageModel", "Images, to make"],
  ["embeddingModel", "Embeddings"],
  ["voiceModel", "Voice"],
  ["transcriptionModel", "Transcription"],
] as const;

export function ModelFields({ draft, set, fault }: AgentPartProps) {
  const models = useData(["models", "list"], (signal) =>
    api.models.listModels.query(undefined, { signal }),
  );
  const names = models.data?.items.map(({ name }) => name) ?? [];
  return (
    <details>
      <summary className="min-h-6 text-[13px] font-medium">Models</summary>
      <div className="mt-2 grid gap-3 sm:grid-cols-2">
        {MODELS.map(([name, label]) => {
          const value = draft[name];
          const known = value === "" || names.includes(value) ? names : [value, ...names];
          return (
            <Select
              key={name}
              label={label}
              value={value}
              fault={fault(name === "chatModel" ? "/agentConfig/chatModel" : `/${name}`)}
              onChange={(event) => set({ [name]: event.target.value })}
              options={[
                ["", "the first that can do it"],
                ...known.map((one) => [one, one] as const),
              ]}
            />
          );
        })}
        <TextField
          label="Temperature"
          type="number"
          min={0}
          max={2}
          step="0.1"
          placeholder="the model’s own"
          value={draft.temperature}
          fault={fault("/agentConfig/temperature")}
          onChange={(event) => set({ temperature: event.target.value })}
        />
        <TextField
          label="Longest answer, in tokens"
          type="number"
          min={1}
          placeholder="the model’s own"
          value={draft.maxTokens}
          fault={fault("/agentConfig/maxTokens")}
          onChange={(event) => set({ maxTokens: event.target.value })}
        />
        <Select
          label="Reads at once"
          value={draft.parallelReads}
          fault={fault("/agentConfig/parallelReads")}
          onChange={(event) => set({ parallelReads: event.target.value })}
          options={["0", "1", "2", "3", "4"].map((count) => [count, count] as const)}
        />
        <Check
          label="Tools of this capsule may draw diagrams"
          checked={draft.diagram}
          onChange={(event) => set({ diagram: event.target.checked })}
        />
      </div>
    </details>
  );
}
