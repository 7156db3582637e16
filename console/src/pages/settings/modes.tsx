// The operating mode: why it is what it is, and what the tools of each class may do in each mode.
import { api, type Outputs } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { ModeSwitch } from "../../app/mode.tsx";
import { cx } from "../../ui/class-names.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Card, Facts } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Countdown, exactTime, Time } from "../../ui/time.tsx";
import { Badge, Sign } from "../../ui/verdict.tsx";

type ModeState = Outputs["mode"]["getMode"];
type Rules = NonNullable<ModeState["rules"]>;

export function Modes() {
  const query = useData(["mode"], (signal) => api.mode.getMode.query(undefined, { signal }));
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {(state) => (
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <Card title="Now" actions={<ModeSwitch />}>
            <Now state={state} />
          </Card>
          <Card title="Sensors" flush>
            <Sensors sensors={state.sensors ?? []} />
          </Card>
          <Card title="What tools may do in each mode" className="lg:col-span-2" flush>
            <RuleTable current={state.mode} rules={state.rules ?? []} />
          </Card>
        </div>
      )}
    </Loaded>
  );
}

function Now({ state }: { readonly state: ModeState }) {
  const { description, reason, by, since, until, revertTo, proposal } = state;
  const accept = useChange(
    (input: { mode: ModeState["mode"]; reason: string }) => api.mode.switchMode.mutate(input),
    { refreshes: ["mode", "tools"] },
  );
  return (
    <div className="flex flex-col gap-3">
      <p>{description}</p>
      <Facts
        rows={[
          ["Reason", reason],
          ["Switched by", by],
          [
            "Since",
            <span key="since">
              <Time at={since} /> ({exactTime(since)})
            </span>,
          ],
          [
            "Until",
            until === null ? (
              "somebody changes it"
            ) : (
              <>
                <Countdown until={until} />, then {revertTo}
              </>
            ),
          ],
        ]}
      />
      {proposal ? (
        <div className="flex flex-wrap items-center justify-between gap-2 rounded-md bg-hold-soft p-3">
          <p className="text-hold">
            <Sign sign="⏸" className="mr-1 inline" />
            Sensors propose {proposal.mode}: {proposal.reason} (<Time at={proposal.at} />)
          </p>
          <ConfirmButton
            small
            danger={false}
            label={`Switch to ${proposal.mode}`}
            question={`Switch to ${proposal.mode}?`}
            explain={proposal.reason}
            confirm={`Switch to ${proposal.mode}`}
            busy={accept.isPending}
            onConfirm={() => accept.mutate({ mode: proposal.mode, reason: proposal.reason })}
          />
        </div>
      ) : null}
    </div>
  );
}

const ACTIONS = { off: "not watched", warn: "warns", act: "switches the mode" };

function Sensors({ sensors }: { readonly sensors: NonNullable<ModeState["sensors"]> }) {
  return (
    <table className="w-full">
      <thead className="text-left text-[13px] text-muted">
        <tr className="border-b border-line">
          <th className="px-4 py-2 font-medium">Sensor</th>
          <th className="px-2 py-2 text-right font-medium">Value</th>
          <th className="px-2 py-2 text-right font-medium">Threshold</th>
          <th className="px-4 py-2 font-medium">Then it</th>
        </tr>
      </thead>
      <tbody>
        {sensors.map(({ name, value, threshold, action, firing }) => (
          <tr key={name} className="border-b border-line/60 last:border-0">
            <td className="px-4 py-1.5">
              {name.replaceAll("_", " ")}{" "}
              {firing ? (
                <Badge tone="deny" sign="!">
                  over it
                </Badge>
              ) : null}
            </td>
            <td className="px-2 py-1.5 text-right tabular-nums">{value.toLocaleString()}</td>
            <td className="px-2 py-1.5 text-right tabular-nums">{threshold.toLocaleString()}</td>
            <td className="px-4 py-1.5">{ACTIONS[action]}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RuleTable({ current, rules }: { readonly current: string; readonly rules: Rules }) {
  const classes = rules[0]?.classes.map((one) => one.class) ?? [];
  return (
    <div tabIndex={0} role="region" aria-label="Rules by mode" className="overflow-x-auto">
      <table className="w-full">
        <thead className="text-left text-[13px] text-muted">
          <tr className="border-b border-line">
            <th className="px-4 py-2 font-medium">Mode</th>
            {classes.map((name) => (
              <th key={name} className="px-3 py-2 font-medium">
                {name.replaceAll("_", " ")}
              </th>
            ))}
            <th className="px-4 py-2 text-right font-medium">Calls a minute</th>
          </tr>
        </thead>
        <tbody>
          {rules.map(({ mode, callsPerMinute, classes: cells }) => (
            <tr
              key={mode}
              className={cx(
                "border-b border-line/60 align-top last:border-0",
                mode === current && "bg-accent-soft",
              )}
            >
              <th scope="row" className="px-4 py-2 text-left font-medium whitespace-nowrap">
                {mode}
                {mode === current ? <span className="font-normal text-muted"> now</span> : null}
              </th>
              {cells.map((cell) => (
                <td key={cell.class} className="px-3 py-2">
                  <Treatment cell={cell} />
                </td>
              ))}
              <td className="px-4 py-2 text-right tabular-nums">{callsPerMinute ?? "no limit"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Treatment({
  cell: { run, approval, no },
}: {
  readonly cell: Rules[number]["classes"][number];
}) {
  if (run + approval + no === 0) return <span className="text-muted">no tools</span>;
  return (
    <span className="flex flex-col items-start gap-1">
      {run > 0 ? (
        <Badge tone="ok" sign="✓">
          {run} run
        </Badge>
      ) : null}
      {approval > 0 ? (
        <Badge tone="hold" sign="⏸">
          {approval} ask
        </Badge>
      ) : null}
      {no > 0 ? (
        <Badge tone="deny" sign="⛔">
          {no} no
        </Badge>
      ) : null}
    </span>
  );
}
