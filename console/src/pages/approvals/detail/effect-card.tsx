// What the call would do, found out by the server without doing it.
import type { UseQueryResult } from "@tanstack/react-query";
import { visibleText } from "../../../ui/code.tsx";
import { Card } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Badge, Sign } from "../../../ui/verdict.tsx";
import type { Effect, Preview } from "../approval.ts";
import { CommandList, HttpRequest } from "./effect-commands.tsx";
import { FileChanges } from "./effect-files.tsx";
import { RowChanges } from "./effect-rows.tsx";

export function EffectCard({
  query,
  isEdit,
}: {
  readonly query: UseQueryResult<Preview>;
  readonly isEdit: boolean;
}) {
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          What it would do
          {isEdit && query.data?.edited ? <Badge tone="info">as edited</Badge> : null}
        </span>
      }
    >
      <Loaded query={query} skeleton={<Skeleton className="h-32 w-full" />}>
        {({ denied, effect }) => (
          <div className="flex flex-col gap-3">
            {denied === null ? null : (
              <div className="rounded-md bg-deny-soft p-3">
                <p className="font-medium text-deny">
                  <Sign sign="⛔" className="inline" /> The gate would refuse it today, whoever
                  agrees
                </p>
                <p>
                  {denied.stage}: {visibleText(denied.message)}{" "}
                  {denied.rule === undefined ? null : <code>{denied.rule}</code>}
                </p>
                {denied.remedy === undefined ? null : <p>{visibleText(denied.remedy)}</p>}
              </div>
            )}
            <EffectShown effect={effect} />
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function EffectShown({ effect }: { readonly effect: Effect }) {
  switch (effect.kind) {
    case "files":
      return <FileChanges effect={effect} />;
    case "database":
      return <RowChanges effect={effect} />;
    case "shell":
      return <CommandList effect={effect} />;
    case "http":
      return <HttpRequest effect={effect} />;
    case "fails":
      return (
        <>
          <p>
            <Badge tone="deny" sign="✕">
              would fail
            </Badge>{" "}
            {visibleText(effect.message)}
            {effect.remedy === undefined ? "" : ` (${visibleText(effect.remedy)})`}
          </p>
          {effect.leaves === undefined ? null : (
            <>
              <p className="font-medium text-hold">What it changes before it fails stays:</p>
              <FileChanges effect={effect.leaves} />
            </>
          )}
        </>
      );
    case "none":
      return <p className="text-muted">No preview: {visibleText(effect.reason)}</p>;
  }
}
