import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Select, TextField } from "../../ui/field.tsx";
import { exactTime } from "../../ui/time.tsx";
import { DEFAULT_PERIOD } from "./range.ts";
import { figuresRoute, PERIODS } from "./routes.ts";

const WORDS: Record<(typeof PERIODS)[number], readonly [string, string]> = {
  "1h": ["1 h", "the last 1 hour"],
  "6h": ["6 h", "the last 6 hours"],
  "24h": ["24 h", "the last 24 hours"],
  "7d": ["7 d", "the last 7 days"],
  "30d": ["30 d", "the last 30 days"],
  "90d": ["90 d", "the last 90 days"],
  "1y": ["1 y", "the last 1 year"],
};

export function Controls({ isAdmin }: { readonly isAdmin: boolean }) {
  const search = figuresRoute.useSearch();
  const navigate = figuresRoute.useNavigate();
  const { period, from, to, tool, category, user, show = "charts" } = search;
  const tools = useData(["tools", "names"], (signal) => api.tools.listTools.query({}, { signal }));
  const set = (name: "tool" | "category" | "user", text: string): void =>
    void navigate({
      replace: true,
      search: ({ [name]: _, ...old }) => (text === "" ? old : { ...old, [name]: text }),
    });
  return (
    <div className="flex flex-wrap items-end gap-3">
      <div role="group" aria-label="Time" className="flex flex-wrap gap-1">
        {PERIODS.map((one) => {
          const isOn = from === undefined && one === (period ?? DEFAULT_PERIOD);
          return (
            <button
              key={one}
              type="button"
              aria-pressed={isOn}
              title={WORDS[one][1]}
              onClick={() =>
                void navigate({
                  search: ({ from: _, to: __, ...old }) => ({ ...old, period: one }),
                })
              }
              className={cx(
                "h-8.5 rounded-md border px-2.5 text-[13px]",
                isOn
                  ? "border-accent bg-accent-soft font-medium"
                  : "border-line bg-surface hover:bg-raised",
              )}
            >
              {WORDS[one][0]}
            </button>
          );
        })}
      </div>
      {from === undefined && to === undefined ? null : (
        <span className="flex items-center gap-2 text-muted">
          {from === undefined ? "" : exactTime(from)} to {to === undefined ? "now" : exactTime(to)}
          <Button
            small
            onClick={() => void navigate({ search: ({ from: _, to: __, ...old }) => old })}
          >
            Zoom out
          </Button>
        </span>
      )}
      <Select
        label="Tool"
        hideLabel
        className="w-44"
        value={tool ?? ""}
        onChange={(event) => set("tool", event.target.value)}
        options={[
          ["", "every tool"],
          ...(tools.data?.tools ?? []).map(({ name }) => [name, name] as const),
          ...(tool === undefined || tools.data?.tools.some(({ name }) => name === tool)
            ? []
            : [[tool, tool] as const]),
        ]}
      />
      <Select
        label="Category"
        hideLabel
        className="w-40"
        value={category ?? ""}
        onChange={(event) => set("category", event.target.value)}
        options={[
          ["", "every category"],
          ...(tools.data?.categories ?? []).map((name) => [name, name] as const),
        ]}
      />
      {isAdmin ? (
        <form
          key={user ?? ""}
          onSubmit={(event) => {
            event.preventDefault();
            const text = new FormData(event.currentTarget).get("user");
            set("user", typeof text === "string" ? text.trim() : "");
          }}
        >
          <TextField
            label="User"
            hideLabel
            name="user"
            className="w-32"
            placeholder="every user"
            defaultValue={user ?? ""}
            onBlur={(event) => set("user", event.target.value.trim())}
          />
        </form>
      ) : null}
      <div role="group" aria-label="Shown as" className="ml-auto flex">
        {(["charts", "tables"] as const).map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={show === one}
            onClick={() =>
              void navigate({ replace: true, search: (old) => ({ ...old, show: one }) })
            }
            className={cx(
              "h-8.5 border px-3 text-[13px] first:rounded-l-md last:-ml-px last:rounded-r-md",
              show === one
                ? "border-accent bg-accent-soft font-medium"
                : "border-line bg-surface hover:bg-raised",
            )}
          >
            {one === "charts" ? "Charts" : "Tables"}
          </button>
        ))}
      </div>
    </div>
  );
}
