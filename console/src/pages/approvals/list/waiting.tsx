// What waits, as cards; several can be decided at once.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useWaiting } from "../../../app/approvals-badge.tsx";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { ButtonLink } from "../../../ui/button.tsx";
import { Card } from "../../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import type { Listed } from "../approval.ts";
import { Batch } from "./batch.tsx";
import { ApprovalCard } from "./card.tsx";

export function Waiting() {
  const waiting = useWaiting();
  return (
    <Loaded query={waiting} skeleton={<Skeleton className="h-72 w-full" />}>
      {({ items }) => <Cards items={items} />}
    </Loaded>
  );
}

const NothingWaits = () => (
  <Card>
    <Empty
      title="Nothing waits for a decision"
      text="When an agent or a person calls a tool that asks first, the call appears here with what it would do."
      action={
        <ButtonLink to="/tools" search={{ state: "asks" }}>
          See which tools ask
        </ButtonLink>
      }
      command="ostiary approvals watch"
    />
  </Card>
);

function Cards({ items }: { readonly items: readonly Listed[] }) {
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const go = (step: number): void => {
    const cards = [...document.querySelectorAll<HTMLElement>("[data-approval]")];
    const at = cards.findIndex((card) => card.contains(document.activeElement));
    const next = cards[Math.min(Math.max(at + step, 0), cards.length - 1)];
    next?.querySelector("a")?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const current = (): string | undefined => {
    const card = document.activeElement?.closest<HTMLElement>("[data-approval]");
    return card?.dataset["approval"] ?? items[0]?.id;
  };
  const open = (act?: "approve" | "deny" | "edit"): void => {
    const id = current();
    if (id !== undefined)
      void navigate({ to: "/approvals/$id", params: { id }, ...(act ? { hash: act } : {}) });
  };
  useShortcut("j", "Next approval", () => go(1));
  useShortcut("k", "Previous approval", () => go(-1));
  useShortcut("Enter", "Open the approval", () => open());
  useShortcut("x", "Choose the approval", () => {
    const id = current();
    if (id !== undefined) toggle(id);
  });
  useShortcut("a", "Approve: opens the confirmation", () => open("approve"));
  useShortcut("d", "Deny: opens the confirmation", () => open("deny"));
  useShortcut("e", "Edit the arguments", () => open("edit"));
  return (
    <div className="flex flex-col gap-3">
      <Batch rows={items.filter(({ id }) => chosen.has(id))} onClear={() => setChosen(new Set())} />
      {/* The results of a batch stay in view when nothing waits any more. */}
      {items.length === 0 ? (
        <NothingWaits />
      ) : (
        <ul aria-label="Waiting approvals" className="flex flex-col gap-3">
          {items.map((row) => (
            <ApprovalCard
              key={row.id}
              row={row}
              isChosen={chosen.has(row.id)}
              onToggle={() => toggle(row.id)}
            />
          ))}
        </ul>
      )}
    </div>
  );
}
