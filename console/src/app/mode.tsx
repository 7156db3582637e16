// The operating mode, always on screen; a banner while it is not NORMAL.
import { useState } from "react";
import { api, type Outputs } from "../api/client.ts";
import { useChange, useData } from "../api/query.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Select, TextField } from "../ui/field.tsx";
import { Countdown } from "../ui/time.tsx";
import { notify } from "../ui/toast.tsx";
import { Badge, type Tone } from "../ui/verdict.tsx";
import { useIsAdmin } from "./session.tsx";

type Mode = Outputs["mode"]["getMode"]["mode"];

const TONES: Record<Mode, Tone> = {
  NORMAL: "ok",
  ALERT: "hold",
  DEGRADED: "hold",
  LOCKDOWN: "deny",
  RECOVERY: "info",
};
const MODES = Object.keys(TONES) as Mode[];

const useMode = () => useData(["mode"], (signal) => api.mode.getMode.query(undefined, { signal }));

export function ModeSwitch() {
  const mode = useMode();
  const isAdmin = useIsAdmin();
  const [isOpen, setOpen] = useState(false);
  if (!mode.data) return <Badge>mode …</Badge>;
  const badge = <Badge tone={TONES[mode.data.mode]}>{mode.data.mode}</Badge>;
  if (!isAdmin) return badge;
  return (
    <>
      <button
        type="button"
        aria-label={`Mode ${mode.data.mode}: change`}
        className="min-h-6 rounded"
        onClick={() => setOpen(true)}
      >
        {badge}
      </button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Operating mode"
        lead="What every tool may do depends on it. A change is recorded with its reason."
      >
        <ModeForm current={mode.data.mode} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function ModeForm({ current, onDone }: { readonly current: Mode; readonly onDone: () => void }) {
  const [mode, setMode] = useState<Mode>(current);
  const [reason, setReason] = useState("");
  const [minutes, setMinutes] = useState("30");
  const change = useChange(
    (input: { mode: Mode; reason: string; forSeconds?: number }) =>
      api.mode.switchMode.mutate(input),
    {
      refreshes: ["mode", "tools"],
      onDone: (_result, input) => {
        notify(`Mode is ${input.mode}`, {
          undo: () => change.mutate({ mode: current, reason: `taken back: ${input.reason}` }),
        });
        onDone();
      },
    },
  );
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate({
          mode,
          reason,
          ...(minutes === "" ? {} : { forSeconds: Number(minutes) * 60 }),
        });
      }}
    >
      <Select
        label="Mode"
        value={mode}
        onChange={(event) => setMode(event.target.value as Mode)}
        options={MODES.map((name) => [name, name])}
      />
      <TextField
        label="Reason"
        required
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        hint="Kept in the ledger and shown to everybody"
      />
      <Select
        label="For how long"
        value={minutes}
        onChange={(event) => setMinutes(event.target.value)}
        options={[
          ["5", "5 minutes"],
          ["30", "30 minutes"],
          ["240", "4 hours"],
          ["1440", "a day"],
          ["", "until it is changed again"],
        ]}
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={change.isPending}
          disabled={mode === current || reason.trim() === ""}
        >
          Switch to {mode}
        </Button>
      </div>
    </form>
  );
}

export function ModeBanner() {
  const { data } = useMode();
  if (!data || data.mode === "NORMAL") return null;
  const { mode, reason, until } = data;
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-2 border-b border-hold/40 bg-hold-soft px-4 py-1.5 text-hold"
    >
      <strong>Mode {mode}</strong>
      <span>{reason}</span>
      {typeof until === "string" ? <Countdown until={until} /> : null}
    </div>
  );
}
