// The tests of a draft with what came of them, and the button that runs them again in the sandbox.
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Card } from "../../../ui/page.tsx";
import { duration, Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import { notPassed, type Review } from "./data.ts";

type Result = Review["testResults"][number];

const LOOKS: Record<Result["status"], readonly [Tone, string, string]> = {
  passed: ["ok", "✓", "passed"],
  failed: ["deny", "✕", "failed"],
  not_run: ["plain", "·", "not run"],
};

export function Tests({ review }: { readonly review: Review }) {
  const { id, testResults, testedAt } = review;
  const again = useChange(() => api.toolDrafts.testToolDraft.mutate({ id }), {
    refreshes: ["draft", "drafts"],
    onDone: (tested) =>
      notify(
        notPassed(tested) === 0
          ? "All tests passed"
          : `${notPassed(tested)} of ${tested.testResults.length} tests did not pass`,
      ),
  });
  return (
    <Card
      title="Tests"
      actions={
        testResults.length === 0 ? null : (
          <Button small busy={again.isPending} onClick={() => again.mutate(undefined)}>
            Run the tests again
          </Button>
        )
      }
    >
      {testResults.length === 0 ? (
        <p className="text-muted">It came without tests.</p>
      ) : (
        <>
          <ol aria-label="Tests" className="flex flex-col gap-2">
            {testResults.map((result, at) => (
              <TestRow key={at} result={result} />
            ))}
          </ol>
          <p className="mt-2 text-muted">
            Run <Time at={testedAt} /> in the sandbox, without workspace and network.
          </p>
        </>
      )}
    </Card>
  );
}

function TestRow({ result: { test, status, ms, message } }: { readonly result: Result }) {
  const [tone, sign, word] = LOOKS[status];
  const { input, output, error, files } = test;
  return (
    <li className="flex flex-col gap-1">
      <span className="flex items-center gap-2">
        <Badge tone={tone} sign={sign}>
          {word}
        </Badge>
        <span className="text-muted">{duration(ms)}</span>
      </span>
      <code className="wrap-anywhere">
        {visibleText(JSON.stringify(input))} →{" "}
        {typeof error === "string"
          ? `error “${visibleText(error)}”`
          : visibleText(JSON.stringify(output))}
      </code>
      {files === undefined || files === null ? null : (
        <span className="text-muted">
          with the files {visibleText(Object.keys(files).join(", "))}
        </span>
      )}
      {message === null ? null : <span className="text-deny">{visibleText(message)}</span>}
    </li>
  );
}
