// One schedule: when it runs, its rules, and what became of the times that were due.
import { Link } from "@tanstack/react-router";
import { api, type Inputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { useSession } from "../../../app/session.tsx";
import { Button } from "../../../ui/button.tsx";
import { Json, visibleText } from "../../../ui/code.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { Facts } from "../../../ui/page.tsx";
import { exactTime, Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { callTool, type Schedule, tellCall } from "../data.ts";
import { PastTimes } from "./past-times.tsx";
import { CatchUpSelect, OverlapSelect } from "./rules.tsx";
import { ScheduleBadge } from "./schedule-badge.tsx";

type Change = Omit<Inputs["work"]["changeSchedule"], "scheduleId">;

interface Props {
  readonly schedule: Schedule;
  /** Of its workflow. */
  readonly name: string;
  /** Closes it, before what does not exist any more would be read again. */
  readonly onRemoved: () => Promise<void>;
}

export function ScheduleDetail({ schedule, name, onRemoved }: Props) {
  const change = useChange(
    (what: Change) => api.work.changeSchedule.mutate({ scheduleId: schedule.id, ...what }),
    {
      refreshes: ["work"],
      onDone: (_row, { enabled }) =>
        notify(
          enabled === undefined
            ? "The rule is changed"
            : enabled
              ? "The schedule goes on"
              : "The schedule is paused",
        ),
    },
  );
  const { enabled, catchUp, overlap, input } = schedule;
  return (
    <>
      <ScheduleFacts schedule={schedule} name={name} />
      <div className="flex flex-wrap gap-2">
        <Button small busy={change.isPending} onClick={() => change.mutate({ enabled: !enabled })}>
          {enabled ? "Pause" : "Resume"}
        </Button>
        <RemoveButton schedule={schedule} name={name} onRemoved={onRemoved} />
      </div>
      <div className="grid gap-3 sm:grid-cols-2">
        <CatchUpSelect
          value={catchUp}
          disabled={change.isPending}
          onChange={(value) => change.mutate({ catchUp: value })}
        />
        <OverlapSelect
          value={overlap}
          disabled={change.isPending}
          onChange={(value) => change.mutate({ overlap: value })}
        />
      </div>
      <PastTimes scheduleId={schedule.id} />
      <details>
        <summary className="min-h-6 font-medium">Input of each run</summary>
        <div className="mt-2">
          <Json value={input} label="input" />
        </div>
      </details>
    </>
  );
}

function ScheduleFacts({ schedule, name }: Pick<Props, "schedule" | "name">) {
  const { workflowId, version, cron, timezone, userId, next, lastAt, lastError } = schedule;
  return (
    <Facts
      rows={[
        [
          "Workflow",
          <Link key="workflow" to="/work/$workflowId" params={{ workflowId }}>
            {visibleText(name)}
          </Link>,
        ],
        ["State", <ScheduleBadge key="state" schedule={schedule} />],
        [
          "When",
          <span key="when">
            <code>{cron}</code> <span className="text-muted">{timezone}</span>
          </span>,
        ],
        ["Next", next.length === 0 ? "none while it is paused" : next.map(exactTime).join(" · ")],
        ["Last run", lastAt === null ? "never" : <Time key="last" at={lastAt} />],
        [
          "Last error",
          lastError === null ? null : <span className="text-deny">{visibleText(lastError)}</span>,
        ],
        ["Runs as", `${userId}${version === null ? "" : `, version ${version}`}`],
      ]}
    />
  );
}

/** What was masked would be lost in a schedule that is made again from what is shown. */
const holdsMask = ({ input }: Schedule): boolean => JSON.stringify(input).includes("[masked");

function RemoveButton({ schedule, name, onRemoved }: Props) {
  const { userId } = useSession();
  const { id, workflowId, cron, timezone, input, enabled, catchUp, overlap } = schedule;
  const again = useChange(
    () =>
      callTool("workflow/schedule", {
        ...{ workflowId, cron, timezone, input, enabled, catchUp, overlap },
      }),
    { refreshes: ["work"], onDone: (outcome) => tellCall("The schedule is made again", outcome) },
  );
  // It would be made with the rights of whoever is signed in.
  const canMakeAgain = schedule.userId === userId && !holdsMask(schedule);
  const remove = useChange(() => api.work.removeSchedule.mutate({ scheduleId: id }), {
    refreshes: ["work"],
    leave: onRemoved,
    onDone: () =>
      notify(`The schedule of ${visibleText(name)} is removed`, {
        ...(canMakeAgain
          ? { undo: () => again.mutate(undefined), undoLabel: "Make it again" }
          : {}),
      }),
  });
  return (
    <ConfirmButton
      small
      label="Remove"
      question="Remove this schedule?"
      explain={
        canMakeAgain
          ? "It runs no more, and its past times are gone. Runs that it started stay. It can be made again with the same settings, as a new one."
          : "It runs no more, and its past times are gone. Runs that it started stay. Only its owner can make it again, by workflow/schedule."
      }
      confirm="Remove it"
      busy={remove.isPending}
      onConfirm={() => remove.mutate(undefined)}
    />
  );
}
