// What the agent asks the person in the middle of a turn.
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { visibleText } from "../../ui/code.tsx";
import { TextField } from "../../ui/field.tsx";
import type { Turn } from "./turn-stream.ts";

export function Questions({ questions }: { readonly questions: Turn["questions"] }) {
  return questions.map((question) => <Question key={question.id} question={question} />);
}

function Question({ question }: { readonly question: Turn["questions"][number] }) {
  const [text, setText] = useState("");
  const decide = useChange(
    (answer: string | null) =>
      api.questions.answerQuestion.mutate({
        id: question.id,
        ...(answer === null ? { decline: true } : { answer }),
      }),
    { refreshes: ["questions", "turns", "sessions"] },
  );
  return (
    <form
      className="flex flex-col gap-2 rounded-md border border-info/50 bg-info-soft/50 p-3"
      onSubmit={(event) => {
        event.preventDefault();
        decide.mutate(text);
      }}
    >
      <p className="font-medium">{visibleText(question.question)}</p>
      {question.context === null ? null : (
        <p className="text-muted">{visibleText(question.context)}</p>
      )}
      {question.options ? (
        <div className="flex flex-wrap gap-2">
          {question.options.map((option) => (
            <Button key={option} disabled={decide.isPending} onClick={() => decide.mutate(option)}>
              {visibleText(option)}
            </Button>
          ))}
        </div>
      ) : (
        <TextField
          label="Your answer"
          required
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      <div className="flex gap-2">
        {question.options ? null : (
          <Button type="submit" look="primary" busy={decide.isPending}>
            Answer
          </Button>
        )}
        <Button look="quiet" disabled={decide.isPending} onClick={() => decide.mutate(null)}>
          Decline to answer
        </Button>
      </div>
    </form>
  );
}
