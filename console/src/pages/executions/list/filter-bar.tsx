// Search, status, and chips for everything else.
import { X } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Select, TextField } from "../../../ui/field.tsx";
import { exactTime } from "../../../ui/time.tsx";
import {
  activeFilters,
  type Field,
  FIELDS,
  type Filters,
  STATUSES,
  statusWord,
} from "../filters.ts";
import { AddFilter } from "./add-filter.tsx";

export function FilterBar({
  filters,
  onChange,
}: {
  readonly filters: Filters;
  readonly onChange: (next: Filters) => void;
}) {
  const chips = activeFilters(filters).filter(([field]) => field !== "status");
  const set = (field: Field, value: string): void => {
    const { [field]: _before, ...rest } = filters;
    onChange(value === "" ? rest : { ...rest, [field]: value });
  };
  return (
    <div role="search" aria-label="Executions" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-end gap-2">
        <SearchField value={filters.search ?? ""} onSearch={(text) => set("search", text)} />
        <Select
          label="Status"
          hideLabel
          className="w-40"
          value={filters.status ?? ""}
          onChange={(event) => set("status", event.target.value)}
          options={[["", "Any status"], ...STATUSES.map((one) => [one, statusWord(one)] as const)]}
        />
        <AddFilter onAdd={set} />
      </div>
      {chips.length > 0 ? (
        <ul aria-label="Filters" className="flex flex-wrap gap-1.5">
          {chips.map(([field, value]) => (
            <li key={field}>
              <button
                type="button"
                onClick={() => set(field, "")}
                className="inline-flex min-h-7 max-w-full items-center gap-1.5 rounded-full border border-line bg-surface px-2.5 text-[13px] hover:bg-raised"
              >
                <span className="sr-only">Remove the filter</span>
                <span className="text-muted">{FIELDS[field]}</span>
                <span className="max-w-64 truncate">{shown(field, value)}</span>
                <X size={13} aria-hidden />
              </button>
            </li>
          ))}
          <li>
            <Button small look="quiet" onClick={() => onChange({})}>
              Clear all
            </Button>
          </li>
        </ul>
      ) : null}
    </div>
  );
}

const shown = (field: Field, value: string): string =>
  (field === "startDate" || field === "endDate") && value.length > 10
    ? exactTime(value)
    : visibleText(value);

function SearchField({
  value,
  onSearch,
}: {
  readonly value: string;
  readonly onSearch: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => setText(value), [value]);
  useShortcut("/", "Search in the list", () => form.current?.querySelector("input")?.focus());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSearch(text.trim());
  };
  return (
    <form ref={form} onSubmit={submit} className="min-w-0 flex-1 basis-64">
      <TextField
        type="search"
        label="Search"
        hideLabel
        placeholder="Search the words of errors, then Enter"
        maxLength={200}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          if (event.target.value === "" && value !== "") onSearch("");
        }}
      />
    </form>
  );
}
