// Why a tool does not run for the reader, and what to do about it.
import { Button } from "../../../ui/button.tsx";
import { copyText } from "../../../ui/copy.tsx";
import { ExplainLink } from "../../../ui/explain-link.tsx";
import { Card, Facts } from "../../../ui/page.tsx";
import { notify } from "../../../ui/toast.tsx";
import { useSession } from "../../../app/session.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Sign } from "../../../ui/verdict.tsx";
import type { CatalogueTool } from "../search.ts";
import { StateBadge, stateSays } from "../state.tsx";
import { SwitchTool } from "./switch.tsx";

export function Barred({ entry }: { readonly entry: CatalogueTool }) {
  const { userId, keyId } = useSession();
  const { verdict, name } = entry;
  if (!verdict) return null;
  const { stage, reason, message, rule, remedy } = verdict;
  const request = [
    `Please give ${userId} access to the tool ${name}.`,
    `The gate refuses it at stage ${stage} (${reason}): ${message}`,
    ...(rule === undefined ? [] : [`Rule: ${rule}`]),
    ...(remedy === undefined ? [] : [`What would help: ${remedy}`]),
    ...(keyId === null ? [] : [`Key: ${keyId}`]),
  ].join("\n");
  const copy = (): void =>
    void copyText(request).then(
      (done) => done && notify("Request copied", { detail: "Send it to an administrator." }),
    );
  return (
    <div className="flex flex-wrap items-start justify-between gap-3 rounded-lg border border-deny/50 bg-deny-soft p-4">
      <div className="min-w-0 flex-1">
        <p className="font-medium text-deny">
          <Sign sign="⛔" className="inline" /> Refused at {stage}: {visibleText(message || reason)}
        </p>
        {remedy === undefined ? null : <p>{visibleText(remedy)}</p>}
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <ExplainLink tool={name} />
        <Button small onClick={copy}>
          Request access
        </Button>
      </div>
    </div>
  );
}

/** For administrators: a tool that does not exist for themselves. */
export function HiddenTool({ entry }: { readonly entry: CatalogueTool }) {
  const { verdict, name } = entry;
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          <StateBadge state={entry.state} /> {stateSays(entry.state)}
        </span>
      }
      actions={verdict?.stage === "registry" ? <SwitchTool name={name} isOn={false} /> : undefined}
    >
      <Facts
        rows={[
          ["What it does", visibleText(entry.description)],
          ["Hidden by", verdict?.stage],
          ["Reason", verdict ? <code key="reason">{verdict.reason}</code> : undefined],
          ["Message", verdict?.message ? visibleText(verdict.message) : undefined],
          ["Rule", verdict?.rule],
          ["What to do", verdict?.remedy],
          [
            "",
            <ExplainLink key="explain" tool={name}>
              Explain
            </ExplainLink>,
          ],
        ]}
      />
    </Card>
  );
}
