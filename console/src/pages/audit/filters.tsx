import { useEffect, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Select, TextField } from "../../ui/field.tsx";
import { Filter as TextFilter } from "../../ui/filter.tsx";
import { filtersOf } from "./events.ts";
import { auditRoute, FILTERS, type Filter } from "./routes.ts";

const AFTER_MS = 350;
const ACTIONS = [
  ["", "every action"],
  ["tool.*", "calls of tools"],
  ["tool.execution.denied", "refused calls"],
  ["approval.*", "approvals"],
  ["policy.changed", "policies"],
  ["governance.changed", "governance files"],
  ["relations.*", "relations"],
  ["mode.*", "modes"],
  ["key.*", "keys"],
  ["user.*", "users"],
  ["login.*", "sign-ins"],
  ["server.*", "start and stop"],
] as const;
const FINER: readonly (readonly [Filter, string, string])[] = [
  ["actor", "Actor", "owner"],
  ["tool", "Tool", "file/write"],
  ["execution", "Execution", "exec_…"],
  ["trace", "Trace", "32 hexadecimal digits"],
];
type Texts = Partial<Record<Filter, string>>;

export function EventFilters() {
  const search = auditRoute.useSearch();
  const navigate = auditRoute.useNavigate();
  const inAddress = JSON.stringify(filtersOf(search));
  const [texts, setTexts] = useState<Texts>(() => filtersOf(search));
  // Also when somebody goes back.
  useEffect(() => setTexts(JSON.parse(inAddress) as Texts), [inAddress]);
  const wanted = JSON.stringify(given(texts));
  useEffect(() => {
    if (wanted === inAddress) return undefined;
    const timer = setTimeout(
      () =>
        void navigate({
          replace: true,
          search: (old) => ({
            ...Object.fromEntries(
              Object.entries(old).filter(([name]) => !FILTERS.includes(name as Filter)),
            ),
            ...(JSON.parse(wanted) as Texts),
          }),
        }),
      AFTER_MS,
    );
    return () => clearTimeout(timer);
  }, [wanted, inAddress, navigate]);
  const set = (name: Filter, text: string): void => setTexts((old) => ({ ...old, [name]: text }));
  const count = Object.keys(given(texts)).length;
  const finer = FINER.filter(([name]) => texts[name] !== undefined && texts[name] !== "").length;
  const actions = ACTIONS.some(([value]) => value === (texts.action ?? ""))
    ? ACTIONS
    : [...ACTIONS, [texts.action ?? "", texts.action ?? ""] as const];
  return (
    <div role="search" aria-label="Filter the events" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-end gap-2">
        <TextFilter
          label="Text anywhere in the event"
          value={texts.text ?? ""}
          onChange={(text) => set("text", text)}
        />
        <Select
          label="Action"
          hideLabel
          className="w-44"
          value={texts.action ?? ""}
          onChange={(event) => set("action", event.target.value)}
          options={actions}
        />
        <TextField
          label="From"
          type="date"
          title="From this day"
          className="w-38"
          value={texts.since?.slice(0, 10) ?? ""}
          onChange={(event) => set("since", event.target.value)}
        />
        <TextField
          label="Until"
          type="date"
          title="Until this day"
          className="w-38"
          value={texts.until?.slice(0, 10) ?? ""}
          onChange={(event) => set("until", event.target.value)}
        />
        <Select
          label="Order"
          hideLabel
          className="w-38"
          value={search.order ?? "newest"}
          onChange={(event) =>
            void navigate({
              search: (old) => ({ ...old, order: event.target.value as "newest" | "oldest" }),
            })
          }
          options={[
            ["newest", "newest first"],
            ["oldest", "oldest first"],
          ]}
        />
        <Button disabled={count === 0} onClick={() => setTexts({})}>
          Clear
        </Button>
      </div>
      <details open={finer > 0 || undefined}>
        <summary className="min-h-6 text-muted">More filters</summary>
        <div className="grid gap-2 pt-2 sm:grid-cols-2 lg:grid-cols-4">
          {FINER.map(([name, label, example]) => (
            <TextField
              key={name}
              label={label}
              placeholder={example}
              value={texts[name] ?? ""}
              onChange={(event) => set(name, event.target.value)}
              fault={faultIn(name, texts[name] ?? "")}
            />
          ))}
        </div>
      </details>
    </div>
  );
}

const TRACE = /^[0-9a-f]{32}$/;

const faultIn = (name: Filter, text: string): string | undefined =>
  name === "trace" && text.trim() !== "" && !TRACE.test(text.trim())
    ? "expected 32 hexadecimal digits"
    : undefined;

/** What is filled in and can be asked for. */
const given = (texts: Texts): Texts =>
  Object.fromEntries(
    FILTERS.flatMap((name) => {
      const text = (texts[name] ?? "").trim();
      return text === "" || faultIn(name, text) !== undefined ? [] : [[name, text]];
    }),
  );
