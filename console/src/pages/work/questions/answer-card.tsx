// A question that waits: what is asked, by whom, and the answer.
import { useEffect, useRef, useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { TextArea } from "../../../ui/field.tsx";
import { Form } from "../../../ui/form.tsx";
import { Card } from "../../../ui/page.tsx";
import { Countdown, Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { askerOf, isOfRun, type Question } from "../data.ts";

export function AnswerCard({
  question,
  isCurrent,
}: {
  readonly question: Question;
  /** It is the one that the address names. */
  readonly isCurrent: boolean;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isCurrent) place.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <div ref={place} className={isCurrent ? "rounded-lg outline-2 outline-accent" : ""}>
      <AskedCard question={question} />
    </div>
  );
}

function AskedCard({ question }: { readonly question: Question }) {
  const { id, question: asked, context, options, userId, createdAt, expiresAt } = question;
  const [answer, setAnswer] = useState("");
  const decide = useChange(
    (input: { answer: string } | { decline: true }) =>
      api.questions.answerQuestion.mutate({ id, ...input }),
    {
      quiet: true,
      refreshes: ["questions", "executions", "runs"],
      onDone: (_row, input) =>
        notify("answer" in input ? "Your answer is sent" : "The question is declined"),
    },
  );
  return (
    <Card
      title={<span className="whitespace-pre-wrap">{visibleText(asked)}</span>}
      actions={
        <span className="text-hold">
          <Countdown until={expiresAt} />
        </span>
      }
    >
      <Form
        submit="Answer"
        onSubmit={() => decide.mutate({ answer })}
        busy={decide.isPending}
        disabled={answer.trim() === ""}
        cause={decide.error}
        actions={
          <Button busy={decide.isPending} onClick={() => decide.mutate({ decline: true })}>
            Decline
          </Button>
        }
      >
        {context === null ? null : (
          <p className="rounded-md bg-raised p-3 whitespace-pre-wrap">{visibleText(context)}</p>
        )}
        <p className="text-muted">
          For {userId}, asked <Time at={createdAt} /> by{" "}
          <a href={askerOf(question)}>{isOfRun(question) ? "this run" : "this execution"}</a>. Your
          answer is input, no approval.
        </p>
        {options === null ? (
          <TextArea
            label="Your answer"
            value={answer}
            maxLength={8_000}
            onChange={(event) => setAnswer(event.target.value)}
          />
        ) : (
          <fieldset className="flex flex-col gap-1">
            <legend className="text-[13px] font-medium">Your answer</legend>
            {options.map((option) => (
              <label key={option} className="flex min-h-7 items-center gap-2">
                <input
                  type="radio"
                  name={id}
                  className="size-4 accent-(--accent)"
                  checked={answer === option}
                  onChange={() => setAnswer(option)}
                />
                {visibleText(option)}
              </label>
            ))}
          </fieldset>
        )}
      </Form>
    </Card>
  );
}
