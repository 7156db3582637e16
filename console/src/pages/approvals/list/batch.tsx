// Several decided at once: one after the other, each answer waited for, and each result told.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { queryClient } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { jsonText, visibleText } from "../../../ui/code.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { TextField } from "../../../ui/field.tsx";
import { ReadThrough } from "../../../ui/read-through.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { argumentsOf, type Listed, sentenceOf } from "../approval.ts";
import { Wish } from "../wish.tsx";

type Decision = "approve" | "deny";

interface Result {
  readonly row: Listed;
  readonly fault: string | null;
}

async function decide(decision: Decision, row: Listed, comment: string): Promise<Result> {
  const vote = { id: row.id, version: row.version, ...(comment === "" ? {} : { comment }) };
  try {
    await api.approvals[decision].mutate(vote);
    return { row, fault: null };
  } catch (cause) {
    const { message, remedy } = failureOf(cause);
    return { row, fault: [message, remedy].filter(Boolean).join("; ") };
  }
}

export function Batch({
  rows,
  onClear,
}: {
  readonly rows: readonly Listed[];
  readonly onClear: () => void;
}) {
  const [decision, setDecision] = useState<Decision | null>(null);
  const [comment, setComment] = useState("");
  const [asked, setAsked] = useState<readonly Listed[]>([]);
  const [results, setResults] = useState<readonly Result[] | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isRead, setRead] = useState(false);
  // Lists hold only the beginning of long arguments: those calls are opened and decided on their own.
  const isWhole = rows.every((row) => !row.argumentsCut && !row.editedArgumentsCut);
  const open = (next: Decision): void => {
    setAsked(rows);
    setResults(null);
    setRead(false);
    setDecision(next);
  };
  const run = async (): Promise<void> => {
    if (decision === null) return;
    setBusy(true);
    const done: Result[] = [];
    for (const row of asked) {
      done.push(await decide(decision, row, comment.trim()));
      setResults([...done]);
    }
    setBusy(false);
    onClear();
    await queryClient.invalidateQueries({ queryKey: ["approvals"] });
  };
  const close = (): void => {
    if (isBusy) return;
    setDecision(null);
    setComment("");
  };
  const verb = decision === "approve" ? "Approve" : "Deny";
  return (
    <>
      {rows.length === 0 ? null : (
        <div
          role="region"
          aria-label="Chosen approvals"
          className="sticky top-0 z-10 flex flex-wrap items-center gap-2 rounded-lg border border-accent bg-surface p-2 pl-4"
        >
          <p className="flex-1 font-medium">{rows.length} chosen</p>
          <Button small onClick={onClear}>
            Choose none
          </Button>
          <Button small look="danger" onClick={() => open("deny")}>
            Deny {rows.length} …
          </Button>
          {isWhole ? (
            <Button small onClick={() => open("approve")}>
              Approve {rows.length} …
            </Button>
          ) : (
            <p className="text-[13px] text-muted">
              Too long to approve together: open those with long arguments
            </p>
          )}
        </div>
      )}
      <Dialog
        open={decision !== null}
        onClose={close}
        title={`${verb} ${asked.length} ${asked.length === 1 ? "call" : "calls"}?`}
        lead={
          decision === "approve"
            ? "Each runs once with exactly the arguments shown; the gate judges it again first."
            : "None of them runs. The comment reaches whoever asked."
        }
      >
        <div className="flex flex-col gap-4">
          <ReadThrough label="What is decided" onRead={() => setRead(true)}>
            <ul className="flex flex-col gap-3">
              {asked.map((row) => (
                <li key={row.id} className="flex flex-col gap-1.5 border-b border-line pb-3">
                  <Wish row={row} />
                  <Told result={results?.find(({ row: { id } }) => id === row.id)} />
                  {decision === "approve" ? (
                    <pre className="break-words whitespace-pre-wrap text-muted">
                      {visibleText(jsonText(argumentsOf(row)))}
                    </pre>
                  ) : null}
                </li>
              ))}
            </ul>
          </ReadThrough>
          {results === null ? (
            <TextField
              label="Comment"
              value={comment}
              maxLength={1000}
              onChange={(event) => setComment(event.target.value)}
              hint="Reaches whoever asked"
            />
          ) : null}
          <div className="flex justify-end gap-2">
            {results === null ? (
              <>
                <Button onClick={close}>Cancel</Button>
                <Button
                  look={decision === "approve" ? "primary" : "danger"}
                  disabled={decision === "approve" && !isRead}
                  onClick={() => void run()}
                >
                  {verb} {asked.length}
                </Button>
              </>
            ) : (
              <Button look="primary" busy={isBusy} onClick={close}>
                Done
              </Button>
            )}
          </div>
        </div>
      </Dialog>
      <p role="status" className="sr-only">
        {results?.map(
          ({ row, fault }) => `${sentenceOf(row, argumentsOf(row))}: ${fault ?? "done"}`,
        )}
      </p>
    </>
  );
}

function Told({ result }: { readonly result: Result | undefined }) {
  if (!result) return null;
  return (
    <p className="flex flex-wrap items-center gap-2 text-[13px]">
      {result.fault === null ? (
        <Badge tone="ok" sign="✓">
          done
        </Badge>
      ) : (
        <>
          <Badge tone="deny" sign="✕">
            refused
          </Badge>
          <span>{result.fault}</span>
        </>
      )}
    </p>
  );
}
