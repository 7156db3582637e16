// The same call once more, as oneself and through the whole gate; arguments may be changed first.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useChange } from "../../../api/query.ts";
import { useSession } from "../../../app/session.tsx";
import { Button } from "../../../ui/button.tsx";
import { jsonText } from "../../../ui/code.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Editor } from "../../../ui/editor/editor.tsx";
import { Failed } from "../../../ui/states.tsx";
import type { Execution } from "../row.ts";

interface Props {
  readonly execution: Execution;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function RerunDialog({ execution, open, onClose }: Props) {
  const { userId } = useSession();
  const isOther = userId !== execution.userId;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      size="large"
      title={`Run ${execution.toolName} again`}
      lead={`A new call that passes the whole gate${isOther ? `, with your rights (${userId}), not those of ${execution.userId}` : ""}.`}
    >
      <RerunForm execution={execution} onClose={onClose} />
    </Dialog>
  );
}

/** As the record shows secrets. */
const MASK = /\[masked(?::[0-9a-f]{12})?\]/;

function RerunForm({ execution, onClose }: Omit<Props, "open">) {
  const { id, toolName, argumentsCut } = execution;
  const navigate = useNavigate();
  const [recorded] = useState(() => jsonText(execution.arguments));
  const [text, setText] = useState(recorded);
  const parsed = parse(text);
  const hasMask = MASK.test(text);
  const isPart = argumentsCut !== undefined && text === recorded;
  const go = (next: string): void => {
    onClose();
    void navigate({ to: "/executions/$id", params: { id: next } });
  };
  const run = useChange(
    (args: Record<string, unknown>) =>
      api.tools.executeTool.mutate({
        name: toolName,
        arguments: args,
        wait: false,
        context: { metadata: { rerunOf: id } },
      }),
    { refreshes: ["executions"], quiet: true, onDone: ({ executionId }) => go(executionId) },
  );
  const refusedAs = run.isError ? failureOf(run.error).executionId : undefined;
  return (
    <div className="flex flex-col gap-3">
      <Editor
        value={text}
        onChange={setText}
        language="json"
        label="Arguments"
        className="h-[40vh]"
      />
      {parsed.fault === undefined ? null : <p className="text-deny">{parsed.fault}</p>}
      {hasMask ? (
        <p className="text-hold">
          The record keeps secrets masked. Put the real values in place of <code>[masked]</code>{" "}
          first.
        </p>
      ) : null}
      {isPart ? (
        <p className="text-hold">
          Only the beginning of the arguments was recorded ({argumentsCut.size.toLocaleString()}{" "}
          bytes in all). Complete them first.
        </p>
      ) : null}
      {run.isError ? <Failed cause={run.error} /> : null}
      <div className="flex flex-wrap justify-end gap-2">
        {text === recorded ? null : (
          <Button look="quiet" className="mr-auto" onClick={() => setText(recorded)}>
            Back to the recorded arguments
          </Button>
        )}
        {refusedAs === undefined ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <Button onClick={() => go(refusedAs)}>See why</Button>
        )}
        <Button
          look="primary"
          busy={run.isPending}
          disabled={parsed.value === undefined || hasMask || isPart}
          onClick={() => parsed.value && run.mutate(parsed.value)}
        >
          {text === recorded ? "Run again" : "Run with these arguments"}
        </Button>
      </div>
    </div>
  );
}

function parse(text: string): { value?: Record<string, unknown>; fault?: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value: value as Record<string, unknown> };
    return { fault: "Arguments are an object: { … }" };
  } catch (cause) {
    return { fault: `Not JSON: ${cause instanceof Error ? cause.message : String(cause)}` };
  }
}
