// The answer: one sentence, every stage, the deciding rule, and what would have to change.
import { useNavigate } from "@tanstack/react-router";
import { Link2 } from "lucide-react";
import { useShortcut } from "../../app/shortcuts.tsx";
import { useIsAdmin } from "../../app/session.tsx";
import { api, type Inputs, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { CallerSelect } from "../../ui/caller-select.tsx";
import { visibleText } from "../../ui/code.tsx";
import { Copy, copyText } from "../../ui/copy.tsx";
import { Select } from "../../ui/field.tsx";
import { GateStrip } from "../../ui/gate-strip.tsx";
import { Card } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { notify } from "../../ui/toast.tsx";
import { VerdictBadge } from "../../ui/verdict.tsx";
import { RelationTree } from "./relation-tree.tsx";
import { type ExplainSearch, MODES } from "./search.ts";

type Explanation = Outputs["explain"]["explainCall"];

export function Answer({
  question,
  search,
}: {
  readonly question: Inputs["explain"]["explainCall"] | null;
  readonly search: ExplainSearch;
}) {
  const query = useData(
    ["explain", question],
    (signal) => api.explain.explainCall.query(question ?? {}, { signal }),
    { enabled: question !== null },
  );
  if (question === null)
    return (
      <Card>
        <Empty
          title="No question yet"
          text="Name a tool, and say who calls it with which arguments. Every refusal in the console, in an answer or in a log also leads here."
          command="ostiary explain file/write path=notes.md"
        />
      </Card>
    );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {(answer) => <Explained answer={answer} search={search} />}
    </Loaded>
  );
}

function Explained({
  answer,
  search,
}: {
  readonly answer: Explanation;
  readonly search: ExplainSearch;
}) {
  const isAdmin = useIsAdmin();
  const { who, tool, wouldChange, taint } = answer;
  const share = (): void => {
    void copyText(window.location.href).then((done) => done && notify("Link copied"));
  };
  useShortcut("y", "Copy the link to this explanation", share);
  const hasRelation = answer.gates.some(({ stage }) => stage === "relationship");
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Card>
        <div className="flex flex-col gap-4">
          <div className="flex flex-col gap-1.5">
            <div className="flex items-start justify-between gap-3">
              <p className="flex min-w-0 items-baseline gap-2 text-[13px] text-muted">
                <VerdictBadge verdict={answer.verdict} />
                <span className="min-w-0 break-words">
                  {who.userId}
                  {who.keyId === null ? "" : ` with key ${who.keyId}`}
                  {who.capsuleId === null ? "" : `, capsule ${who.capsuleId}`}
                </span>
              </p>
              <Button small onClick={share}>
                <Link2 size={14} aria-hidden /> Copy link
              </Button>
            </div>
            <p className="text-[17px] leading-snug font-semibold" data-summary>
              {visibleText(answer.summary)}
            </p>
          </div>
          <GateStrip key={JSON.stringify(search)} gates={answer.gates} />
          {taint === undefined ? null : (
            <p className="rounded-md bg-hold-soft px-3 py-2 text-hold">⚠ {visibleText(taint)}</p>
          )}
        </div>
      </Card>
      {wouldChange.length === 0 ? null : (
        <Card title="What would have to change">
          <ul className="flex flex-col gap-1.5">
            {wouldChange.map((change) => (
              <li key={change} className="flex items-start gap-2">
                <span aria-hidden className="text-muted">
                  →
                </span>
                <span className="min-w-0 flex-1">{visibleText(change)}</span>
                <Copy text={change} label="Copy this" />
              </li>
            ))}
          </ul>
        </Card>
      )}
      {search.execution === undefined ? <Simulate search={search} /> : null}
      {isAdmin && hasRelation ? <RelationTree tool={tool} userId={who.userId} /> : null}
    </div>
  );
}

/** The same question with one thing changed. */
function Simulate({ search }: { readonly search: ExplainSearch }) {
  const navigate = useNavigate({ from: "/explain" });
  const change = (next: Partial<ExplainSearch>): void =>
    void navigate({ search: (now) => ({ ...now, ...next }) });
  return (
    <Card title="Simulate with">
      <div className="grid gap-3 sm:grid-cols-3">
        <CallerSelect
          label="another caller"
          value={search.as ?? ""}
          onChange={(as) => change({ as: as || undefined })}
        />
        <Select
          label="another mode"
          value={search.mode ?? ""}
          onChange={(event) => change({ mode: MODES.find((one) => one === event.target.value) })}
          options={[["", "as it is"], ...MODES.map((name) => [name, name] as const)]}
        />
        <Select
          label="another time"
          value={search.at === undefined ? "" : "then"}
          onChange={(event) => change({ at: atOf(event.target.value) })}
          options={[
            ["", "now"],
            ...(search.at === undefined ? [] : [["then", search.at] as const]),
            ["night", "tonight at 3"],
            ["weekend", "next Sunday at noon"],
          ]}
        />
      </div>
    </Card>
  );
}

function atOf(choice: string): string | undefined {
  if (choice === "") return undefined;
  const time = new Date();
  if (choice === "night") {
    time.setDate(time.getDate() + 1);
    time.setHours(3, 0, 0, 0);
  } else {
    time.setDate(time.getDate() + ((7 - time.getDay()) % 7 || 7));
    time.setHours(12, 0, 0, 0);
  }
  return time.toISOString();
}
