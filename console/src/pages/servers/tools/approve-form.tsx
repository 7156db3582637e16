// Who gets the tools that are approved, and with which risk.
import { useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { visibleText } from "../../../ui/code.tsx";
import { Check, Select } from "../../../ui/field.tsx";
import { Form } from "../../../ui/form.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import type { ServerTool } from "../types.ts";
import { dangersIn, Findings } from "./findings.tsx";

type Approval = Inputs["servers"]["approveServerTools"];
type Risk = "" | "safe" | "moderate" | "dangerous";

export function ApproveForm({
  server,
  tools,
  onCancel,
  onDone,
}: {
  readonly server: string;
  readonly tools: readonly ServerTool[];
  readonly onCancel: () => void;
  readonly onDone: () => void;
}) {
  const capsules = useData(["capsules", "choices"], (signal) =>
    api.capsules.listCapsules.query({ limit: 100 }, { signal }),
  );
  const [risk, setRisk] = useState<Risk>("");
  const [grant, setGrant] = useState<"members" | "none">("members");
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  const [accepts, setAccepts] = useState(false);
  const dangers = dangersIn(tools);
  // As the server itself would choose.
  const usual = (capsules.data?.items ?? [])
    .filter((one) => one.default || one.capabilities.includes("*"))
    .map(({ id }) => id);
  const into = chosen ?? usual;
  const approve = useChange((input: Approval) => api.servers.approveServerTools.mutate(input), {
    quiet: true,
    refreshes: ["servers", "tools", "capsules"],
    onDone: (made) => {
      notify(
        made.tools.length === 1
          ? `${made.tools[0]?.name} is approved`
          : `${made.tools.length} tools are approved`,
        {
          detail:
            made.capsules.length === 0 ? "In no capsule yet" : `In ${made.capsules.join(", ")}`,
        },
      );
      onDone();
    },
  });
  const submit = (): void =>
    approve.mutate({
      name: server,
      tools: tools.map(({ name }) => name),
      expectedPins: Object.fromEntries(tools.map(({ name, seenPin }) => [name, seenPin])),
      capsules: [...into],
      grant,
      evenWithFindings: accepts,
      ...(risk === "" ? {} : { terms: { risk } }),
    });
  return (
    <Form
      submit="Approve"
      onSubmit={submit}
      onCancel={onCancel}
      busy={approve.isPending}
      disabled={!capsules.data || (dangers > 0 && !accepts)}
      cause={approve.error}
    >
      <ul className="max-h-48 overflow-y-auto rounded-md border border-line">
        {tools.map(({ name, terms, description }) => (
          <li key={name} className="border-b border-line/60 px-3 py-1.5 last:border-0">
            <span className="flex flex-wrap items-center gap-2">
              <code className="font-medium">{visibleText(name)}</code>
              <Badge>{terms.risk}</Badge>
              <span className="text-xs text-muted">{terms.effects.replaceAll("_", " ")}</span>
            </span>
            <span className="line-clamp-2 text-muted">{visibleText(description)}</span>
          </li>
        ))}
      </ul>
      {dangers > 0 ? (
        <div className="flex flex-col gap-2 rounded-md bg-deny-soft p-3">
          <Findings findings={tools.flatMap(({ findings }) => findings)} />
          <Check
            label="I have read the findings and approve it all the same"
            checked={accepts}
            onChange={(event) => setAccepts(event.target.checked)}
          />
        </div>
      ) : null}
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="Risk"
          value={risk}
          onChange={(event) => setRisk(event.target.value as Risk)}
          hint="Decides whether a call runs or asks"
          options={[
            ["", "as proposed"],
            ["safe", "safe"],
            ["moderate", "moderate"],
            ["dangerous", "dangerous"],
          ]}
        />
        <Select
          label="Who may call them at once"
          value={grant}
          onChange={(event) => setGrant(event.target.value as "members" | "none")}
          options={[
            ["members", "every member of the tenant"],
            ["none", "nobody yet"],
          ]}
        />
      </div>
      <fieldset className="flex flex-col gap-1">
        <legend className="text-[13px] font-medium">Capsules that get them</legend>
        <Loaded query={capsules} skeleton={<Skeleton className="h-12 w-full" />}>
          {({ items }) => (
            <div className="grid max-h-40 gap-x-4 gap-y-1 overflow-y-auto sm:grid-cols-2">
              {items.map(({ id, name }) => (
                <Check
                  key={id}
                  label={name}
                  checked={into.includes(id)}
                  onChange={(event) =>
                    setChosen(
                      event.target.checked ? [...into, id] : into.filter((one) => one !== id),
                    )
                  }
                />
              ))}
            </div>
          )}
        </Loaded>
      </fieldset>
    </Form>
  );
}
