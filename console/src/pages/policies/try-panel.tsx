// The draft asked about one input, again with every change: nothing leaves the browser.
import { useEffect, useMemo, useState } from "react";
import type { CoverageReport } from "@ostiary/rego/browser";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Code, jsonText } from "../../ui/code.tsx";
import { Editor } from "../../ui/editor/editor.tsx";
import { Failed, Skeleton } from "../../ui/states.tsx";
import { Badge } from "../../ui/verdict.tsx";
import type { Tried } from "./lab/rego.ts";
import type { Place } from "./place.ts";
import { Samples } from "./samples.tsx";
import type { Faults } from "./use-faults.ts";
import { Visits } from "./visits.tsx";

const AFTER_MS = 300;
/** Until something is on record. */
const SAMPLE = {
  user_id: "ada",
  roles: ["tool_user"],
  tool_name: "system/echo",
  action: "execute",
  mode: "NORMAL",
  time: "2026-03-02T10:00:00.000Z",
  argument_names: ["text"],
  arguments: { text: "hello" },
};

export function TryPanel({
  found,
  call,
  onCoverage,
  onGo,
}: {
  readonly found: Faults;
  /** A recorded call; absent: the newest. */
  readonly call: string | undefined;
  readonly onCoverage: (coverage: CoverageReport | null) => void;
  readonly onGo: (place: Place) => void;
}) {
  const question = useData(["policies", "input", call ?? null], (signal) =>
    api.policies.getPolicyInput.query(call === undefined ? {} : { executionId: call }, { signal }),
  );
  const [text, setText] = useState<string | null>(null);
  const loaded = question.data;
  useEffect(() => {
    if (loaded) setText(jsonText(loaded.input ?? SAMPLE));
  }, [loaded?.executionId, loaded !== undefined]);
  const [tried, setTried] = useState<Tried | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const { lab, compiled } = found;
  useEffect(() => {
    if (!lab || !compiled?.policy || !loaded || text === null) return undefined;
    const { policy, data } = compiled;
    const timer = setTimeout(() => {
      const input = parsed(text);
      setFault(input.fault);
      if (input.fault !== null) return;
      const { path, tools } = loaded;
      const result = lab.tryInput(policy, data, { path, tools, input: input.value });
      setTried(result);
      onCoverage(result.coverage);
    }, AFTER_MS);
    return () => clearTimeout(timer);
  }, [lab, compiled, loaded, text, onCoverage]);
  // Its colours belong to this panel.
  useEffect(() => () => onCoverage(null), [onCoverage]);
  const isStale = compiled !== null && compiled.policy === null;

  if (question.isError)
    return <Failed cause={question.error} retry={() => void question.refetch()} />;
  if (!loaded || text === null) return <Skeleton className="h-96 w-full" />;
  return (
    <div className="flex flex-col gap-4">
      <section className="flex flex-col gap-2">
        <div className="flex items-center justify-between gap-2">
          <h2>Input</h2>
          <Samples current={loaded.executionId} hasInput={loaded.input !== null} />
        </div>
        <Editor
          label="Input of the policy as JSON"
          language="json"
          value={text}
          onChange={setText}
          className="h-52"
        />
        {fault === null ? null : <p className="text-deny">✕ Not JSON: {fault}</p>}
      </section>
      {compiled?.needsServer ? (
        <p className="rounded-md bg-hold-soft p-3 text-hold">
          This policy uses functions that only the server has. It cannot be tried here; Check and
          Replay ask the server.
        </p>
      ) : isStale ? (
        <p className="text-muted">The answer follows once the texts compile.</p>
      ) : null}
      {tried && !isStale ? <Answer tried={tried} onGo={onGo} /> : null}
    </div>
  );
}

function Answer({ tried, onGo }: { readonly tried: Tried; readonly onGo: (place: Place) => void }) {
  const { allow, answer, reasons, error, visits, output, printed, ms, coverage } = tried;
  const percent = useMemo(() => Math.round(coverage?.percent ?? 0), [coverage]);
  return (
    <section className="flex flex-col gap-3" aria-label="Answer" aria-live="polite">
      <div className="flex flex-wrap items-center gap-2">
        <h2>Answer</h2>
        {allow === true ? (
          <Badge tone="ok" sign="✓">
            allowed
          </Badge>
        ) : allow === false ? (
          <Badge tone="deny" sign="⛔">
            refused
          </Badge>
        ) : (
          <Badge tone="hold" sign="!">
            {error === null ? `${answer}: counts as refused` : "no answer: counts as refused"}
          </Badge>
        )}
        <span className="text-muted">
          {ms < 1 ? "under 1 ms" : `${Math.round(ms)} ms`} · {percent} % of the lines reached
        </span>
      </div>
      {error === null ? null : <p className="text-deny">✕ {error}</p>}
      {reasons.length > 0 ? (
        <ul aria-label="Reasons" className="list-disc pl-5">
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      ) : null}
      <Visits visits={visits} onGo={onGo} />
      <details>
        <summary className="min-h-6 font-medium">Everything the package says</summary>
        <div className="pt-2">
          <Code text={output} label="Output of the package" />
        </div>
      </details>
      {printed.length > 0 ? <Code text={printed.join("\n")} label="What print wrote" /> : null}
    </section>
  );
}

function parsed(text: string): { value: unknown; fault: string | null } {
  try {
    return { value: JSON.parse(text) as unknown, fault: null };
  } catch (cause) {
    return { value: null, fault: (cause as Error).message };
  }
}
