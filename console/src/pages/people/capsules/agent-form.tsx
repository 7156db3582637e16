// How an agent works that acts through the capsule: prompt, models, limits, tool policy and autonomy.
import { useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { Select, TextArea, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { numberOf, wordsOf } from "../choices.ts";
import type { Capsule } from "./capsules.tsx";
import { ModelFields } from "./model-fields.tsx";
import { type CapsuleChange, useSaveCapsule } from "./use-save.ts";

type Draft = ReturnType<typeof draftOf>;

const text = (value: number | null | undefined): string => (value == null ? "" : String(value));

function draftOf({ agentConfig, ...capsule }: Capsule) {
  const { limits, toolPolicy } = agentConfig;
  return {
    systemPrompt: capsule.systemPrompt,
    chatModel: agentConfig.chatModel ?? "",
    imageModel: capsule.imageModel ?? "",
    visionModel: capsule.visionModel ?? "",
    embeddingModel: capsule.embeddingModel ?? "",
    voiceModel: capsule.voiceModel ?? "",
    transcriptionModel: capsule.transcriptionModel ?? "",
    diagram: capsule.diagram,
    temperature: text(agentConfig.temperature),
    maxTokens: text(agentConfig.maxTokens),
    autonomy: text(agentConfig.autonomy),
    parallelReads: text(agentConfig.parallelReads),
    rounds: text(limits.rounds),
    turnSeconds: text(limits.turnSeconds),
    turnCost: text(limits.turnCost),
    toolCallsPerTurn: text(limits.toolCallsPerTurn),
    auto: toolPolicy.auto.join("\n"),
    ask: toolPolicy.ask.join("\n"),
    never: toolPolicy.never.join("\n"),
  };
}

const orNull = (value: string): string | null => (value === "" ? null : value);
const numberOrNull = (value: string): number | null => numberOf(value) ?? null;

function changeOf(draft: Draft): CapsuleChange {
  const limits = Object.fromEntries(
    (["rounds", "turnSeconds", "turnCost", "toolCallsPerTurn"] as const)
      .map((name) => [name, numberOf(draft[name])] as const)
      .filter(([, value]) => value !== undefined),
  );
  return {
    systemPrompt: draft.systemPrompt,
    imageModel: orNull(draft.imageModel),
    visionModel: orNull(draft.visionModel),
    embeddingModel: orNull(draft.embeddingModel),
    voiceModel: orNull(draft.voiceModel),
    transcriptionModel: orNull(draft.transcriptionModel),
    diagram: draft.diagram,
    agentConfig: {
      chatModel: orNull(draft.chatModel),
      temperature: numberOrNull(draft.temperature),
      maxTokens: numberOrNull(draft.maxTokens),
      autonomy: numberOrNull(draft.autonomy),
      parallelReads: numberOf(draft.parallelReads) ?? 0,
      limits,
      toolPolicy: {
        auto: wordsOf(draft.auto),
        ask: wordsOf(draft.ask),
        never: wordsOf(draft.never),
      },
    },
  };
}

export function AgentForm({ capsule }: { readonly capsule: Capsule }) {
  const [draft, setDraft] = useState(() => draftOf(capsule));
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const save = useSaveCapsule(capsule.id);
  const fault = faultsOf(save.error);
  const isSame = JSON.stringify(draft) === JSON.stringify(draftOf(capsule));
  const parts = { draft, set, fault };
  return (
    <Form
      submit="Save and activate"
      onSubmit={() => save.mutate(changeOf(draft))}
      busy={save.isPending}
      disabled={isSame}
      cause={save.error}
      actions={
        <Button
          disabled={isSame || save.isPending}
          onClick={() => save.mutate({ ...changeOf(draft), draft: true })}
        >
          Save as a draft
        </Button>
      }
    >
      <TextArea
        label="System prompt"
        rows={6}
        value={draft.systemPrompt}
        fault={fault("/systemPrompt")}
        hint="Comes first in every conversation of an agent with this capsule"
        onChange={(event) => set({ systemPrompt: event.target.value })}
      />
      <AutonomyFields {...parts} />
      <PolicyFields {...parts} />
      <LimitFields {...parts} />
      <ModelFields {...parts} />
    </Form>
  );
}

export interface AgentPartProps {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly fault: (path: string) => string | undefined;
}

function autonomyHint(value: string): string {
  if (value === "") return "What the rules say counts alone";
  if (Number(value) <= 3) return "Every tool asks; no network";
  return Number(value) <= 6
    ? "Dangerous tools ask; listed hosts only"
    : "What the rules say counts alone";
}

function AutonomyFields({ draft, set, fault }: AgentPartProps) {
  return (
    <Select
      label="Autonomy"
      value={draft.autonomy}
      fault={fault("/agentConfig/autonomy")}
      hint={autonomyHint(draft.autonomy)}
      onChange={(event) => set({ autonomy: event.target.value })}
      options={[
        ["", "not set"],
        ...Array.from({ length: 10 }, (_, at) => [String(at + 1), String(at + 1)] as const),
      ]}
    />
  );
}

const POLICIES = [
  ["auto", "Runs without autonomy’s question"],
  ["ask", "Always asks a person"],
  ["never", "Does not exist here"],
] as const;

function PolicyFields({ draft, set, fault }: AgentPartProps) {
  return (
    <fieldset className="grid gap-3 sm:grid-cols-3">
      <legend className="mb-1 text-[13px] font-medium">
        Tool policy{" "}
        <span className="font-normal text-muted">
          a tool (file/read), a category (file/*) or a class (read_only) on each line
        </span>
      </legend>
      {POLICIES.map(([name, label]) => (
        <TextArea
          key={name}
          label={label}
          mono
          value={draft[name]}
          fault={fault(`/agentConfig/toolPolicy/${name}`)}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      ))}
    </fieldset>
  );
}

const LIMITS = [
  ["rounds", "Answers in a turn", 1, 100],
  ["toolCallsPerTurn", "Tool calls in a turn", 0, 1_000],
  ["turnSeconds", "Seconds of a turn", 1, 86_400],
  ["turnCost", "US dollars of a turn", 0, 1_000_000],
] as const;

function LimitFields({ draft, set, fault }: AgentPartProps) {
  return (
    <div className="grid grid-cols-2 gap-3">
      {LIMITS.map(([name, label, min, max]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          min={min}
          max={max}
          step="any"
          placeholder="not limited"
          value={draft[name]}
          fault={fault(`/agentConfig/limits/${name}`)}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      ))}
    </div>
  );
}
