import { Popover } from "@base-ui/react/popover";
import { ListFilter } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { useIsAdmin } from "../../../app/session.tsx";
import { Button } from "../../../ui/button.tsx";
import { Select, TextField } from "../../../ui/field.tsx";
import { type Field, FIELDS } from "../filters.ts";

const CHOICES = [
  "toolName",
  "category",
  "userId",
  "errorCode",
  "sessionId",
  "traceId",
  "startDate",
  "endDate",
] as const satisfies readonly Field[];

const HINTS: Partial<Record<Field, string>> = {
  toolName: "e.g. file/read",
  errorCode: "e.g. TIMEOUT, FORBIDDEN",
  traceId: "32 hexadecimal digits",
  sessionId: "as it was given with the call",
};

export function AddFilter({ onAdd }: { readonly onAdd: (field: Field, value: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger
        render={
          <Button>
            <ListFilter size={14} aria-hidden /> Filter
          </Button>
        }
      />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="end" className="z-30">
          <Popover.Popup className="w-72 rounded-lg border border-line bg-surface p-3 text-text shadow-lg">
            <Popover.Title className="sr-only">Add a filter</Popover.Title>
            <FilterForm
              onAdd={(field, value) => {
                setOpen(false);
                onAdd(field, value);
              }}
            />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function FilterForm({ onAdd }: { readonly onAdd: (field: Field, value: string) => void }) {
  const isAdmin = useIsAdmin();
  const [field, setField] = useState<Field>("toolName");
  const [value, setValue] = useState("");
  const listId = useId();
  const isDate = field === "startDate" || field === "endDate";
  const trimmed = value.trim();
  const isBadTrace = field === "traceId" && trimmed !== "" && !/^[0-9a-f]{32}$/.test(trimmed);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (trimmed === "" || isBadTrace) return;
    // The field has local time without a zone; the server asks for one.
    onAdd(field, isDate ? new Date(trimmed).toISOString() : trimmed);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <Select
        label="Field"
        value={field}
        onChange={(event) => {
          setField(event.target.value as Field);
          setValue("");
        }}
        options={CHOICES.filter((name) => isAdmin || name !== "userId").map((name) => [
          name,
          FIELDS[name],
        ])}
      />
      <TextField
        label={isDate ? "Date and time" : "Value"}
        type={isDate ? "datetime-local" : "text"}
        list={listId}
        required
        maxLength={128}
        value={value}
        onChange={(event) => setValue(event.target.value)}
        hint={HINTS[field]}
        fault={isBadTrace ? "expected 32 hexadecimal digits in lower case" : undefined}
      />
      <Suggestions id={listId} field={field} />
      <Button type="submit" look="primary" disabled={trimmed === "" || isBadTrace}>
        Add the filter
      </Button>
    </form>
  );
}

function Suggestions({ id, field }: { readonly id: string; readonly field: Field }) {
  const isAdmin = useIsAdmin();
  const tools = useData(["tools", "names"], (signal) => api.tools.listTools.query({}, { signal }), {
    enabled: field === "toolName" || field === "category",
  });
  const users = useData(
    ["users", "names"],
    (signal) => api.users.listUsers.query({ limit: 100 }, { signal }),
    { enabled: isAdmin && field === "userId" },
  );
  const values =
    field === "toolName"
      ? tools.data?.tools.map(({ name }) => name)
      : field === "category"
        ? tools.data?.categories
        : field === "userId"
          ? users.data?.items.map((user) => user.id)
          : field === "errorCode"
            ? ERROR_CODES
            : [];
  return (
    <datalist id={id}>
      {values?.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  );
}

/** Codes that executions end with; `docs/errors.md` has all. */
const ERROR_CODES = [
  "FORBIDDEN",
  "NOT_FOUND",
  "BAD_REQUEST",
  "TIMEOUT",
  "CANCELLED",
  "EXECUTION_FAILED",
  "OUTCOME_UNKNOWN",
  "TOO_MANY_REQUESTS",
  "BUDGET_EXHAUSTED",
  "UNAVAILABLE",
];
