// Questions that agents ask: those that wait for an answer first.
import { visibleText } from "../../../ui/code.tsx";
import { Card } from "../../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import { askerOf, isOfRun, type Question, useQuestions } from "../data.ts";
import { AnswerCard } from "./answer-card.tsx";

export function Questions({ current }: { readonly current: string | undefined }) {
  const query = useQuestions();
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {({ items }) => {
        const open = items.filter(({ state }) => state === "pending");
        const past = items.filter(({ state }) => state !== "pending");
        return items.length === 0 ? (
          <div className="rounded-lg border border-line bg-surface">
            <Empty
              title="No questions yet"
              text="When an agent cannot find something out by itself, it asks with agent/ask_user, and you answer here. An answer is never an approval."
              command="ostiary call agent/ask_user question='Which branch?'"
            />
          </div>
        ) : (
          <div className="flex flex-col gap-4">
            {open.length === 0 ? <p className="text-muted">No question waits for you.</p> : null}
            {open.map((question) => (
              <AnswerCard
                key={question.id}
                question={question}
                isCurrent={question.id === current}
              />
            ))}
            {past.length > 0 ? (
              <Card title="Before" flush>
                <ul>
                  {past.map((question) => (
                    <PastQuestion key={question.id} question={question} />
                  ))}
                </ul>
              </Card>
            ) : null}
          </div>
        );
      }}
    </Loaded>
  );
}

const STATES: Readonly<Record<string, readonly [Tone, string, string]>> = {
  answered: ["ok", "✓", "answered"],
  declined: ["deny", "⛔", "declined"],
  expired: ["plain", "○", "expired"],
  not_presented: ["plain", "○", "nobody saw it"],
};

function PastQuestion({ question }: { readonly question: Question }) {
  const { state, answer, answeredBy, createdAt } = question;
  const [tone, sign, word] = STATES[state] ?? (["plain", "·", state] as const);
  return (
    <li className="flex flex-col gap-1 border-b border-line/60 px-4 py-2 last:border-0">
      <span className="flex flex-wrap items-center gap-2">
        <Badge tone={tone} sign={sign}>
          {word}
        </Badge>
        <span className="font-medium">{visibleText(question.question)}</span>
      </span>
      <span className="text-muted">
        <Time at={createdAt} /> ·{" "}
        <a href={askerOf(question)}>{isOfRun(question) ? "run" : "execution"}</a>
        {answer === null ? "" : ` · “${visibleText(answer)}”`}
        {answeredBy === null ? "" : ` by ${answeredBy}`}
      </span>
    </li>
  );
}
