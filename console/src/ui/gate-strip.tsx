// The stages of the gate in order, with the verdict and the time of each.
import { useState } from "react";
import type { Outputs } from "../api/client.ts";
import { Link } from "@tanstack/react-router";
import { cx } from "./class-names.ts";
import { Code, Json } from "./code.tsx";
import { Facts } from "./page.tsx";
import { duration } from "./time.tsx";
import { Sign, toneText, VerdictBadge, verdictLook } from "./verdict.tsx";

export type GateVerdict = Outputs["explain"]["explainCall"]["gates"][number];

/** The twelve stages, for those that were not reached. */
const STAGES = [
  "registry",
  "capsule",
  "relationship",
  "policy",
  "allowlist",
  "level",
  "mode",
  "input",
  "arguments",
  "rate",
  "budget",
  "approval",
] as const;

export function GateStrip({
  gates,
  compact = false,
}: {
  readonly gates: readonly GateVerdict[];
  /** Signs only, without the details below. */
  readonly compact?: boolean;
}) {
  const decisive = gates.find(({ verdict }) => verdict !== "allow");
  const [chosen, setChosen] = useState<string | null>(null);
  const shown = gates.find(({ stage }) => stage === (chosen ?? decisive?.stage));
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <ol aria-label="Stages of the gate" className="flex flex-wrap gap-1">
        {STAGES.map((stage) => {
          const verdict = gates.find((gate) => gate.stage === stage);
          return (
            <li key={stage}>
              <Stage
                stage={stage}
                verdict={verdict}
                isChosen={!compact && shown?.stage === stage}
                onChoose={compact || !verdict ? undefined : () => setChosen(stage)}
              />
            </li>
          );
        })}
      </ol>
      {compact || !shown ? null : <StageDetail gate={shown} />}
    </div>
  );
}

function Stage({
  stage,
  verdict,
  isChosen,
  onChoose,
}: {
  readonly stage: string;
  readonly verdict: GateVerdict | undefined;
  readonly isChosen: boolean;
  readonly onChoose: (() => void) | undefined;
}) {
  const look = verdict ? verdictLook(verdict.verdict) : null;
  const content = (
    <>
      <Sign sign={look?.sign ?? "–"} className={look ? toneText[look.tone] : "text-muted"} />
      <span>{stage}</span>
      <span className="sr-only">{look?.word ?? "not reached"}</span>
      {verdict ? (
        <span className="text-xs text-muted tabular-nums">{duration(verdict.ms)}</span>
      ) : null}
    </>
  );
  const style = cx(
    "inline-flex min-h-7 items-center gap-1.5 rounded-md border px-2 text-[13px]",
    isChosen ? "border-accent bg-accent-soft" : "border-line bg-surface",
    !verdict && "text-muted",
  );
  if (!onChoose) return <span className={style}>{content}</span>;
  return (
    <button type="button" className={style} aria-pressed={isChosen} onClick={onChoose}>
      {content}
    </button>
  );
}

/** Without the one that the stage's own words repeat. */
const faultsBeyond = ({ errors = [], message, remedy }: GateVerdict) =>
  errors.filter((fault) => fault.message !== message || fault.suggestion !== remedy);

/** What one stage decided: reason, rule with its place and text, what it read, what would change the answer. */
function StageDetail({ gate }: { readonly gate: GateVerdict }) {
  return (
    <div className="flex flex-col gap-2 rounded-md border border-line p-3" data-stage={gate.stage}>
      <p className="flex flex-wrap items-center gap-2">
        <VerdictBadge verdict={gate.verdict} />
        <strong>{gate.stage}</strong>
        <span>{gate.message ?? gate.reason ?? "agreed"}</span>
      </p>
      <Facts
        rows={[
          [
            "Reason",
            gate.reason === undefined ? undefined : (
              <code>{[gate.code, gate.reason].filter(Boolean).join(" / ")}</code>
            ),
          ],
          ["Rule", gate.rule === undefined ? undefined : <code>{gate.rule}</code>],
          ["Engine", gate.engine],
          ["Mode", gate.mode],
          ["Asks for", gate.asks],
          ["Waives", gate.waives],
          ["What to do", gate.remedy],
          [
            "On trial",
            gate.shadow ? (
              <span>
                version {gate.shadow.version} would {gate.shadow.verdict}: {gate.shadow.reason}{" "}
                <Link to="/policies">Policies</Link>
              </span>
            ) : undefined,
          ],
        ]}
      />
      {faultsBeyond(gate).map((fault) => (
        <p key={fault.path} className="text-deny">
          <code>{fault.path || "/"}</code>: {fault.message}
          {fault.suggestion === undefined ? "" : ` (${fault.suggestion})`}
        </p>
      ))}
      {gate.ruleText === undefined ? null : <Code text={gate.ruleText} label="rule text" />}
      {gate.read === undefined ? null : (
        <details>
          <summary className="text-muted">What it read</summary>
          <Json value={gate.read} label="data that the stage read" />
        </details>
      )}
    </div>
  );
}
