// Three calls that show what the gate does: one that runs, one that is refused, one that a person must agree to.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { useChange } from "../../api/query.ts";
import { useIsAdmin } from "../../app/session.tsx";
import { Button } from "../../ui/button.tsx";
import { visibleText } from "../../ui/code.tsx";
import { Card } from "../../ui/page.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { askForApproval } from "./demo-agent.ts";
import { Badge, type Tone } from "../../ui/verdict.tsx";

interface Lesson {
  readonly label: string;
  readonly about: string;
  readonly run: (isAdmin: boolean) => Promise<Outcome>;
}

type Outcome = Awaited<ReturnType<typeof api.tools.executeTool.mutate>>;

const LESSONS: readonly Lesson[] = [
  {
    label: "Run the demo call",
    about: "Asks for the time. A safe tool: it passes all stages and runs.",
    run: () => api.tools.executeTool.mutate({ name: "system/time", arguments: {} }),
  },
  {
    label: "Show me a denial",
    about: "Reads a private SSH key. A rule forbids it, and says so.",
    run: () =>
      api.tools.executeTool.mutate({
        name: "file/read",
        arguments: { path: "~/.ssh/id_ed25519" },
      }),
  },
  {
    label: "Ask for an approval",
    about: "An agent wants to write ostiary-demo.txt into the workspace. It waits until you agree.",
    run: askForApproval,
  },
];

export function TryIt() {
  return (
    <Card title="See the gate at work">
      <ul className="grid gap-4 md:grid-cols-3">
        {LESSONS.map((lesson) => (
          <li key={lesson.label} className="flex min-w-0 flex-col items-start gap-2">
            <LessonPart lesson={lesson} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function LessonPart({ lesson: { label, about, run: start } }: { readonly lesson: Lesson }) {
  const isAdmin = useIsAdmin();
  const run = useChange(() => start(isAdmin), {
    refreshes: ["executions", "approvals"],
    quiet: true,
  });
  return (
    <>
      <Button busy={run.isPending} onClick={() => run.mutate(undefined)}>
        {label}
      </Button>
      <p className="text-[13px] text-muted">{about}</p>
      <div role="status" className="min-w-0 text-[13px]">
        {run.isSuccess ? <Answer outcome={run.data} /> : null}
        {run.isError ? <Refusal cause={run.error} /> : null}
      </div>
    </>
  );
}

function Answer({ outcome }: { readonly outcome: Outcome }) {
  const { status, executionId, approval, gates } = outcome;
  if (approval)
    return (
      <Result tone="hold" sign="⏸" word="waiting" executionId={executionId}>
        <HrefLink className="underline" href={`/approvals/${approval.id}`}>
          Decide it
        </HrefLink>
      </Result>
    );
  return (
    <Result
      tone={status === "success" ? "ok" : "info"}
      sign={status === "success" ? "✓" : "▶"}
      word={status}
      executionId={executionId}
    >
      {gates ? `${gates.length} of 12 stages agreed` : null}
    </Result>
  );
}

function Refusal({ cause }: { readonly cause: unknown }) {
  const { message, executionId } = failureOf(cause);
  return (
    <Result tone="deny" sign="⛔" word="denied" executionId={executionId}>
      {visibleText(message)}{" "}
      {executionId === undefined ? null : (
        <HrefLink className="underline" href={`/x/${executionId}`}>
          Explain
        </HrefLink>
      )}
    </Result>
  );
}

function Result({
  tone,
  sign,
  word,
  executionId,
  children,
}: {
  readonly tone: Tone;
  readonly sign: string;
  readonly word: string;
  readonly executionId: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <p>
      <Badge tone={tone} sign={sign}>
        {word}
      </Badge>{" "}
      {children}{" "}
      {executionId === undefined ? null : (
        <Link to="/executions/$id" params={{ id: executionId }} className="underline">
          Open the execution
        </Link>
      )}
    </p>
  );
}
