// The tests of the draft, run in the browser.
import { useEffect, useState } from "react";
import type { CoverageReport } from "@ostiary/rego/browser";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Empty, Skeleton } from "../../ui/states.tsx";
import { duration } from "../../ui/time.tsx";
import type { TestRun } from "./lab/rego.ts";
import type { Place } from "./place.ts";
import type { Faults } from "./use-faults.ts";

export function TestPanel({
  found,
  onCoverage,
  onGo,
}: {
  readonly found: Faults;
  readonly onCoverage: (coverage: CoverageReport | null) => void;
  readonly onGo: (place: Place) => void;
}) {
  const [run, setRun] = useState<TestRun | null>(null);
  const [again, setAgain] = useState(0);
  const { lab, compiled } = found;
  useEffect(() => {
    if (!lab || !compiled?.policy) return undefined;
    const stop = new AbortController();
    setRun(null);
    lab.runTests(compiled.policy, stop.signal).then(
      (done) => {
        setRun(done);
        onCoverage(done.coverage);
      },
      (cause: unknown) => {
        if (!stop.signal.aborted) throw cause;
      },
    );
    return () => stop.abort();
  }, [lab, compiled, again, onCoverage]);
  useEffect(() => () => onCoverage(null), [onCoverage]);

  if (compiled?.needsServer)
    return (
      <Empty
        title="Only the server can run these tests"
        text="The policy uses functions that browsers do not have."
        action={<Button onClick={found.check}>Check on the server</Button>}
      />
    );
  if (compiled && !compiled.policy)
    return <Empty title="The texts do not compile" text="The tests follow once they do." />;
  if (!run) return <Skeleton className="h-72 w-full" />;
  if (run.results.length === 0)
    return (
      <Empty
        title="Nothing tests this policy yet"
        text="Rules named test_… in a file that ends in _test.rego run here, and before a version is published."
      />
    );
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3" role="status">
        <span className={run.failed === 0 ? "text-ok" : "text-deny"}>
          {run.failed === 0 ? "✓" : "✕"} {run.passed} passed, {run.failed} failed
        </span>
        {run.coverage ? (
          <span className="text-muted">
            {Math.round(run.coverage.percent)} % of the lines covered
          </span>
        ) : null}
        <span className="ml-auto">
          <Button small onClick={() => setAgain(again + 1)}>
            Run again
          </Button>
        </span>
      </div>
      <ul aria-label="Tests" className="rounded-md border border-line">
        {run.results.map((test, at) => (
          <li key={at} className="border-b border-line/60 last:border-b-0">
            <button
              type="button"
              onClick={() => onGo(test.location)}
              className="flex w-full flex-wrap items-baseline gap-x-2 px-3 py-1.5 text-left hover:bg-raised"
            >
              <Sign status={test.status} />
              <span className="min-w-0">
                <code>{test.name}</code>
                <WhyFailed test={test} />
              </span>
              <span className="ml-auto shrink-0 text-xs text-muted">
                {test.location.file}:{test.location.line} · {duration(test.durationMs)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

type Result = TestRun["results"][number];

function Sign({ status }: { readonly status: Result["status"] }) {
  const sign = { passed: "✓", failed: "✕", errored: "✕", skipped: "–" }[status];
  const tone = {
    passed: "text-ok",
    failed: "text-deny",
    errored: "text-deny",
    skipped: "text-muted",
  };
  return (
    <span className={cx("shrink-0", tone[status])}>
      {sign}
      <span className="sr-only">{status}</span>
    </span>
  );
}

function WhyFailed({ test }: { readonly test: Result }) {
  if (test.status === "passed" || test.status === "skipped") return null;
  const at = test.explanation?.visits[0]?.failedAt;
  return (
    <span className="block text-deny">
      {test.error?.message ??
        (at ? `${at.file}:${at.line}:${at.column} does not hold` : "undefined or false")}
      {test.output.map((line, n) => (
        <code key={n} className="block text-text">
          {line}
        </code>
      ))}
    </span>
  );
}
