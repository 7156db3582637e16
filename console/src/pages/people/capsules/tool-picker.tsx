// Which tools a capsule or persona holds: by category, with a filter, or every native one.
import { useId, useMemo, useState } from "react";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Check } from "../../../ui/field.tsx";
import { holds } from "../../../ui/filter.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";

interface Known {
  readonly name: string;
  readonly description: string;
}

export function ToolPicker({
  value,
  onChange,
  withEvery,
}: {
  readonly value: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
  /** `*` may be chosen: every native tool, those of later versions too. */
  readonly withEvery: boolean;
}) {
  const query = useData(["tools", "names"], (signal) => api.tools.listTools.query({}, { signal }));
  const hasEvery = value.includes("*");
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="text-[13px] font-medium">Tools</legend>
      {withEvery ? (
        <Check
          label="Every native tool, those of later versions too"
          checked={hasEvery}
          onChange={(event) =>
            onChange(event.target.checked ? ["*", ...value] : value.filter((one) => one !== "*"))
          }
        />
      ) : null}
      <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
        {({ tools }) => <Choices tools={tools} value={value} onChange={onChange} />}
      </Loaded>
    </fieldset>
  );
}

const categoryOf = (name: string): string => name.split("/", 1)[0] ?? name;

function Choices({
  tools,
  value,
  onChange,
}: {
  readonly tools: readonly Known[];
  readonly value: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}) {
  const [q, setQ] = useState("");
  const chosen = useMemo(() => new Set(value), [value]);
  // What is held and not listed, e.g. a tool that is switched off or one version of it, is kept and can be let go.
  const all = useMemo(() => {
    const known = new Set(tools.map(({ name }) => name));
    const others = value
      .filter((name) => name !== "*" && !known.has(name))
      .map((name) => ({ name, description: "not in your list of tools now" }));
    return Map.groupBy([...tools, ...others], ({ name }) => categoryOf(name));
  }, [tools, value]);
  const set = (names: readonly string[], isOn: boolean): void => {
    const next = new Set(value);
    for (const name of names)
      if (isOn) next.add(name);
      else next.delete(name);
    onChange([...next]);
  };
  const count = value.filter((name) => name !== "*").length;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label="Filter tools"
          placeholder="Filter tools"
          value={q}
          onChange={(event) => setQ(event.target.value)}
          className="h-8.5 w-full rounded-md border border-strong-line/70 bg-surface px-2.5 placeholder:text-muted sm:w-64"
        />
        <span className="text-muted" role="status">
          {count} chosen
        </span>
      </div>
      <div
        className="max-h-80 overflow-y-auto rounded-md border border-line"
        tabIndex={0}
        role="group"
        aria-label="Tools to choose from"
      >
        {[...all].map(([category, members]) => {
          const shown = members.filter((one) => holds(q, one.name, one.description));
          return shown.length === 0 ? null : (
            <Category key={category} name={category} tools={shown} chosen={chosen} onSet={set} />
          );
        })}
      </div>
    </>
  );
}

function Category({
  name,
  tools,
  chosen,
  onSet,
}: {
  readonly name: string;
  readonly tools: readonly Known[];
  readonly chosen: ReadonlySet<string>;
  readonly onSet: (names: readonly string[], isOn: boolean) => void;
}) {
  const id = useId();
  const names = tools.map((tool) => tool.name);
  const held = names.filter((tool) => chosen.has(tool)).length;
  return (
    <section aria-labelledby={id}>
      <div className="sticky top-0 flex items-center justify-between gap-2 border-b border-line bg-raised px-3 py-1">
        <h4 id={id} className="font-medium">
          {name}{" "}
          <span className="font-normal text-muted">
            {held} of {names.length}
          </span>
        </h4>
        <button
          type="button"
          className="min-h-6 rounded px-1.5 text-[13px] text-accent hover:bg-surface"
          onClick={() => onSet(names, held < names.length)}
        >
          {held < names.length ? `Choose all of ${name}` : `Choose none of ${name}`}
        </button>
      </div>
      <ul className="px-3 py-1">
        {tools.map((tool) => (
          <li key={tool.name}>
            <label className="flex min-h-7 items-center gap-2">
              <input
                type="checkbox"
                className="size-4 shrink-0 accent-(--accent)"
                checked={chosen.has(tool.name)}
                onChange={(event) => onSet([tool.name], event.target.checked)}
              />
              <code className="shrink-0">{tool.name}</code>
              <span className="truncate text-xs text-muted">{tool.description}</span>
            </label>
          </li>
        ))}
      </ul>
    </section>
  );
}
