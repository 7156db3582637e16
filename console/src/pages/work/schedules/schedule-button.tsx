// Has a workflow run by the clock.
import { useState } from "react";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { TextArea, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { callTool, type Schedule, tellCall, type Workflow } from "../data.ts";
import { objectOf } from "../runs/run-button.tsx";
import { CatchUpSelect, OverlapSelect } from "./rules.tsx";

export function ScheduleButton({ workflow }: { readonly workflow: Workflow }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Schedule…</Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title={`Schedule ${workflow.name}`}
        lead="It runs as you. When there is a newer version of it, the schedule stops until you schedule it anew."
      >
        <ScheduleForm workflow={workflow} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

function ScheduleForm({
  workflow,
  onClose,
}: {
  readonly workflow: Workflow;
  readonly onClose: () => void;
}) {
  const [cron, setCron] = useState("0 9 * * 1-5");
  const [timezone, setTimezone] = useState(ownZone);
  const [catchUp, setCatchUp] = useState<Schedule["catchUp"]>("once");
  const [overlap, setOverlap] = useState<Schedule["overlap"]>("skip");
  const [text, setText] = useState("{}");
  const input = objectOf(text);
  const schedule = useChange(
    () =>
      callTool("workflow/schedule", {
        workflowId: workflow.id,
        cron,
        timezone,
        catchUp,
        overlap,
        input: input ?? {},
      }),
    {
      quiet: true,
      refreshes: ["work"],
      onDone: (outcome) => {
        tellCall(`${workflow.name} is scheduled`, outcome);
        onClose();
      },
    },
  );
  const fault = faultsOf(schedule.error);
  return (
    <Form
      submit="Schedule it"
      onSubmit={() => schedule.mutate(undefined)}
      onCancel={onClose}
      busy={schedule.isPending}
      disabled={input === undefined || cron.trim() === ""}
      cause={schedule.error}
    >
      <TextField
        label="When"
        required
        value={cron}
        fault={fault("/cron")}
        hint="Five cron fields: minute hour day month weekday; 0 9 * * 1-5 is 9:00 on workdays"
        onChange={(event) => setCron(event.target.value)}
      />
      <TextField
        label="Timezone"
        required
        value={timezone}
        fault={fault("/timezone")}
        onChange={(event) => setTimezone(event.target.value)}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <CatchUpSelect value={catchUp} onChange={setCatchUp} />
        <OverlapSelect value={overlap} onChange={setOverlap} />
      </div>
      <TextArea
        label="Input of each run"
        mono
        value={text}
        fault={input === undefined ? "Expected a JSON object" : fault("/input")}
        onChange={(event) => setText(event.target.value)}
      />
    </Form>
  );
}
