import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import type { Outputs } from "../../api/client.ts";
import { useShortcut } from "../../app/shortcuts.tsx";
import { cx } from "../../ui/class-names.ts";
import { Select, TextField } from "../../ui/field.tsx";
import { categoriesOf } from "./categories.tsx";
import { type CatalogueSearch, type CatalogueTool, sourceOf, STATES } from "./search.ts";
import { StateBadge } from "./state.tsx";

export function Filters({
  all,
  counts,
  search,
}: {
  readonly all: readonly CatalogueTool[];
  readonly counts: Outputs["tools"]["viewCatalogue"]["counts"];
  readonly search: CatalogueSearch;
}) {
  const navigate = useNavigate({ from: "/tools" });
  const area = useRef<HTMLDivElement>(null);
  useShortcut("/", "Filter the tools", () =>
    area.current?.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
  );
  const set = (next: CatalogueSearch): void =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true });
  const choice = (values: readonly string[]): (readonly [string, string])[] => [
    ["", "all"],
    ...[...new Set(values)].sort().map((value) => [value, value] as const),
  ];
  return (
    <div className="flex flex-col gap-3">
      <div
        ref={area}
        className="grid grid-cols-2 gap-3 sm:grid-cols-[minmax(12rem,1fr)_repeat(3,9rem)]"
      >
        <TextField
          label="Search"
          type="search"
          className="max-sm:col-span-2"
          placeholder="name, description or tag"
          value={search.q ?? ""}
          onChange={(event) => set({ q: event.target.value || undefined })}
        />
        <Select
          label="Category"
          className="2xl:hidden"
          value={search.category ?? ""}
          options={[["", "all"], ...categoriesOf(all).map(([name]) => [name, name] as const)]}
          onChange={(event) => set({ category: event.target.value || undefined })}
        />
        <Select
          label="Source"
          value={search.source ?? ""}
          options={choice(all.map(sourceOf))}
          onChange={(event) => set({ source: event.target.value || undefined })}
        />
        <Select
          label="Risk"
          value={search.risk ?? ""}
          options={choice(all.map(({ risk }) => risk))}
          onChange={(event) => set({ risk: event.target.value || undefined })}
        />
      </div>
      <div role="group" aria-label="State" className="flex flex-wrap gap-1.5">
        {STATES.filter((state) => counts[state] !== undefined).map((state) => (
          <button
            key={state}
            type="button"
            aria-pressed={search.state === state}
            onClick={() => set({ state: search.state === state ? undefined : state })}
            className={cx(
              "inline-flex min-h-7 items-center gap-1.5 rounded-md border px-2",
              search.state === state ? "border-accent bg-accent-soft" : "border-line bg-surface",
            )}
          >
            <StateBadge state={state} />
            <span className="text-[13px] tabular-nums">{counts[state]}</span>
          </button>
        ))}
      </div>
    </div>
  );
}
