// Filters under a name, kept with the account.
import { Bookmark } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { TextField } from "../../../ui/field.tsx";
import { Menu } from "../../../ui/menu.tsx";
import { notify } from "../../../ui/toast.tsx";
import { activeFilters, type Filters, filtersOf } from "../filters.ts";

const KEY = "console.executions.views";
const MOST = 30;

interface View {
  readonly name: string;
  readonly filters: Filters;
}

type Preferences = Inputs["account"]["updatePreferences"]["preferences"];

/** Programs may write preferences too: what is no view is left out. */
function viewsIn(stored: unknown): readonly View[] {
  if (!Array.isArray(stored)) return [];
  return stored.flatMap((one: unknown): View[] => {
    const { name, filters } = (one ?? {}) as { name?: unknown; filters?: unknown };
    if (typeof name !== "string" || typeof filters !== "object" || filters === null) return [];
    return [{ name, filters: filtersOf(filters as Record<string, unknown>) }];
  });
}

export function SavedViews({
  filters,
  onChoose,
}: {
  readonly filters: Filters;
  readonly onChoose: (filters: Filters) => void;
}) {
  const [isNaming, setNaming] = useState(false);
  const preferences = useData(["preferences"], (signal) =>
    api.account.getPreferences.query({}, { signal }),
  );
  const views = viewsIn(preferences.data?.preferences[KEY]);
  const save = useChange(
    (next: readonly View[]) =>
      api.account.updatePreferences.mutate({
        preferences: { [KEY]: next } as unknown as Preferences,
      }),
    { refreshes: ["preferences"] },
  );
  const remove = (name: string): void =>
    save.mutate(
      views.filter((view) => view.name !== name),
      { onSuccess: () => notify(`View “${name}” removed`, { undo: () => save.mutate(views) }) },
    );
  const hasFilters = activeFilters(filters).length > 0;
  const current = views.find((view) => JSON.stringify(view.filters) === JSON.stringify(filters));
  return (
    <>
      <Menu
        trigger={
          <Button disabled={!preferences.isSuccess}>
            <Bookmark size={14} aria-hidden /> {current?.name ?? "Views"}
          </Button>
        }
        items={[
          ...views.map((view) => ({ label: view.name, onSelect: () => onChoose(view.filters) })),
          {
            label: "Save these filters as a view …",
            disabled: !hasFilters || views.length >= MOST,
            onSelect: () => setNaming(true),
          },
          ...(current
            ? [
                {
                  label: `Remove “${current.name}”`,
                  danger: true,
                  onSelect: () => remove(current.name),
                },
              ]
            : []),
        ]}
      />
      <Dialog open={isNaming} onClose={() => setNaming(false)} title="Save these filters as a view">
        <NameForm
          taken={views.map(({ name }) => name)}
          isBusy={save.isPending}
          onSave={(name) =>
            save.mutate([...views.filter((view) => view.name !== name), { name, filters }], {
              onSuccess: () => {
                setNaming(false);
                notify(`View “${name}” saved`);
              },
            })
          }
        />
      </Dialog>
    </>
  );
}

function NameForm({
  taken,
  isBusy,
  onSave,
}: {
  readonly taken: readonly string[];
  readonly isBusy: boolean;
  readonly onSave: (name: string) => void;
}) {
  const [name, setName] = useState("");
  const trimmed = name.trim();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (trimmed !== "") onSave(trimmed);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <TextField
        label="Name"
        required
        maxLength={60}
        value={name}
        onChange={(event) => setName(event.target.value)}
        hint={
          taken.includes(trimmed)
            ? "There is a view of this name: it is replaced"
            : "Only you see your views"
        }
      />
      <div className="flex justify-end">
        <Button type="submit" look="primary" busy={isBusy} disabled={trimmed === ""}>
          Save the view
        </Button>
      </div>
    </form>
  );
}
