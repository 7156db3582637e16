// Recorded calls asked again under the draft: what would change. Nothing runs.
import { useState } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Select } from "../../ui/field.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { Empty, Failed, Skeleton } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { Badge, type Tone } from "../../ui/verdict.tsx";
import type { Files, Kind } from "./kinds.ts";

type Answer = Outputs["policies"]["replay"];
type Changed = Answer["changed"][number];

const DAY_MS = 86_400_000;

export function Replay({
  kind,
  files,
  onTry,
}: {
  readonly kind: Kind;
  readonly files: Files;
  readonly onTry: (call: string) => void;
}) {
  const [last, setLast] = useState("1000");
  const [days, setDays] = useState("7");
  const replay = useChange(
    () =>
      api.policies.replay.mutate({
        ...draftOf(kind, files),
        last: Number(last),
        since: new Date(Date.now() - Number(days) * DAY_MS).toISOString(),
      }),
    { quiet: true },
  );
  return (
    <div className="flex flex-col gap-4">
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          replay.mutate(undefined);
        }}
      >
        <Select
          label="Calls"
          value={last}
          onChange={(event) => setLast(event.target.value)}
          options={[
            ["100", "the last 100"],
            ["1000", "the last 1,000"],
            ["10000", "the last 10,000"],
          ]}
        />
        <Select
          label="Of"
          value={days}
          onChange={(event) => setDays(event.target.value)}
          options={[
            ["1", "the last day"],
            ["7", "the last 7 days"],
            ["30", "the last 30 days"],
          ]}
        />
        <Button type="submit" look="primary" busy={replay.isPending}>
          Replay this draft
        </Button>
      </form>
      {replay.isPending ? <Skeleton className="h-40 w-full" /> : null}
      {replay.isError && !replay.isPending ? <Failed cause={replay.error} /> : null}
      {replay.isIdle ? (
        <p className="text-muted">
          Recorded calls are judged again, by the rules in force and by this draft. Nothing runs.
        </p>
      ) : null}
      {replay.data && !replay.isPending ? (
        <Result answer={replay.data} kind={kind} onTry={onTry} />
      ) : null}
    </div>
  );
}

function draftOf(kind: Kind, files: Files) {
  if (kind === "policy") return { policy: { ...files } };
  if (kind === "governance") return { governance: { ...files } };
  return { schema: Object.values(files)[0] ?? "" };
}

function Result({
  answer: { tried, left, changed },
  kind,
  onTry,
}: {
  readonly answer: Answer;
  readonly kind: Kind;
  readonly onTry: (call: string) => void;
}) {
  if (tried === 0)
    return (
      <Empty
        title="No call is on record for this time"
        text="Choose a longer time, or make some calls first."
        command="ostiary call system/echo text=hello"
      />
    );
  const words = tried === 1 ? "recent call" : "recent calls";
  return (
    <section aria-label="Result of the replay" className="flex flex-col gap-2">
      <h2 role="status" className={changed.length === 0 ? "text-ok" : "text-hold"}>
        {changed.length === 0
          ? `None of ${tried.toLocaleString("en")} ${words} would change`
          : `${changed.length.toLocaleString("en")} of ${tried.toLocaleString("en")} ${words} would change`}
      </h2>
      {left > 0 ? (
        <p className="text-muted">
          {left.toLocaleString("en")} more could not be asked: their tool is gone, or their
          arguments were too large to keep.
        </p>
      ) : null}
      <ul aria-label="Changed verdicts" className="flex flex-col gap-2">
        {changed.slice(0, 200).map((one) => (
          <li key={one.executionId} className="rounded-md border border-line bg-surface px-3 py-2">
            <ChangedCall one={one} canTry={kind === "policy"} onTry={onTry} />
          </li>
        ))}
      </ul>
      {changed.length > 200 ? (
        <p className="text-muted">and {changed.length - 200} more; the newest 200 are shown</p>
      ) : null}
    </section>
  );
}

function ChangedCall({
  one,
  canTry,
  onTry,
}: {
  readonly one: Changed;
  readonly canTry: boolean;
  readonly onTry: (call: string) => void;
}) {
  const { executionId, tool, userId, at, before, after } = one;
  const why = after.message ?? after.reason ?? before.message ?? before.reason;
  return (
    <div className="flex flex-col gap-1">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <Said one={before} />
        <span aria-hidden="true">→</span>
        <span className="sr-only">becomes</span>
        <Said one={after} />
        <code>{tool}</code>
        <span className="text-[13px] text-muted">
          {userId}, <Time at={at} />
        </span>
      </p>
      <div className="flex items-end justify-between gap-3">
        <p className="min-w-0 text-[13px] text-muted">
          {why}
          {after.rule === undefined ? null : (
            <>
              {" "}
              <code>{after.rule}</code>
            </>
          )}
        </p>
        <span className="flex shrink-0 items-center gap-3">
          <HrefLink href={`/explain?execution=${executionId}`}>Explain</HrefLink>
          {canTry ? (
            <Button small onClick={() => onTry(executionId)}>
              Try
            </Button>
          ) : null}
        </span>
      </div>
    </div>
  );
}

const LOOKS: Record<Changed["before"]["verdict"], readonly [Tone, string, string]> = {
  run: ["ok", "✓", "runs"],
  ask: ["hold", "⏸", "asks"],
  no: ["deny", "⛔", "refused"],
};

function Said({ one }: { readonly one: Changed["before"] }) {
  const [tone, sign, word] = LOOKS[one.verdict];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}
