// One version, to be judged: what it does, what checks and tests said, what it changes, and the decision.
import { type ReactNode, useState } from "react";
import { Json, visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { DiffLines, unifiedLines } from "../../../ui/diff.tsx";
import { Card, Facts, Page } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { RiskBadge } from "../state.tsx";
import { type Review, useReview } from "./data.ts";
import { Decide } from "./decide.tsx";
import { DraftFindings } from "./findings.tsx";
import { termsText } from "./grant-sentence.ts";
import { Program } from "./program.tsx";
import { DraftBadge, TestsBadge } from "./state.tsx";
import { Tests } from "./tests.tsx";
import { Versions } from "./versions.tsx";

export function DraftReview({ id, back }: { readonly id: string; readonly back: ReactNode }) {
  const query = useReview(id);
  const review = query.data;
  return (
    <Page
      title={review ? `${visibleText(review.name)} ${review.version}` : "Drafted tool"}
      wide
      lead={
        <span className="flex flex-wrap items-center gap-2">
          {back}
          {review ? (
            <>
              <DraftBadge state={review.state} />
              <TestsBadge draft={review} />
            </>
          ) : null}
        </span>
      }
      actions={review ? <Decide review={review} /> : null}
    >
      <Loaded query={query} skeleton={<Skeleton className="h-[70vh] w-full" />}>
        {(shown) => <Shown review={shown} />}
      </Loaded>
    </Page>
  );
}

function Shown({ review }: { readonly review: Review }) {
  const [goTo, setGoTo] = useState<{ readonly line: number } | null>(null);
  const { comparedWith, diff, findingList } = review;
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <div className="flex min-w-0 flex-col gap-4">
        <Card title="Program">
          <Program review={review} goTo={goTo} />
        </Card>
        {comparedWith === null ? null : (
          <Card title={`Difference to ${comparedWith}`}>
            {diff.length === 0 ? (
              <p className="text-muted">Nothing that is called differs.</p>
            ) : (
              <DiffLines label={`Difference to ${comparedWith}`} lines={unifiedLines(diff)} />
            )}
          </Card>
        )}
        <Card title="What callers see">
          <Definition review={review} />
        </Card>
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <Card title="About it">
          <About review={review} />
        </Card>
        <Card title="Findings">
          <DraftFindings findings={findingList} onLine={(line) => setGoTo({ line })} />
        </Card>
        <Tests review={review} />
        <Card title="Versions" flush>
          <Versions review={review} />
        </Card>
      </div>
    </div>
  );
}

function About({ review }: { readonly review: Review }) {
  const { author, createdAt, proposedRisk, replaces, hash, timeoutSeconds, terms } = review;
  const { decidedAt, decidedBy, reason, state } = review;
  return (
    <Facts
      rows={[
        [
          "Drafted",
          <span key="drafted">
            <Time at={createdAt} /> by {author}
          </span>,
        ],
        [
          "Proposed risk",
          proposedRisk === null ? "none" : <RiskBadge key="risk" risk={proposedRisk} />,
        ],
        ["Replaces", replaces],
        ["May run", `${timeoutSeconds} s`],
        [
          "Hash",
          <span key="hash" className="flex items-center gap-1">
            <code>{hash.slice(0, 12)}</code>
            <Copy text={hash} label="Copy the hash" />
          </span>,
        ],
        [
          state === "pending_link" ? "Looked at" : "Decided",
          decidedAt === null ? null : (
            <span key="decided">
              <Time at={decidedAt} /> by {decidedBy}
            </span>
          ),
        ],
        ["Reason", reason === null ? null : visibleText(reason)],
        [state === "linked" ? "Terms" : "Last terms", terms && termsText(terms)],
      ]}
    />
  );
}

function Definition({ review }: { readonly review: Review }) {
  const { description, inputSchema, outputSchema, examples } = review;
  return (
    <div className="flex flex-col gap-3">
      <p>{visibleText(description)}</p>
      <Part title="What it takes" value={inputSchema} />
      {outputSchema === null ? null : <Part title="What it answers" value={outputSchema} />}
      {examples.length === 0 ? null : <Part title="Examples" value={examples} />}
    </div>
  );
}

const Part = ({ title, value }: { readonly title: string; readonly value: unknown }) => (
  <details>
    <summary className="min-h-6 font-medium">{title}</summary>
    <div className="mt-2">
      <Json value={value} label={title} />
    </div>
  </details>
);
