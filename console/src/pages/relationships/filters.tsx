// What the list and the graph are narrowed by; it lives in the address.
import { useEffect, useRef, useState } from "react";
import { useShortcut } from "../../app/shortcuts.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { faultOf, filterFault, filtersOf } from "./relationships.ts";
import { relationshipsRoute } from "./routes.ts";

const AFTER_MS = 350;
const FIELDS = [
  {
    name: "resource",
    label: "Resource",
    example: "tool or tool:system/echo",
    list: "relation-types",
  },
  { name: "relation", label: "Relation", example: "executor", list: "relation-names" },
  {
    name: "subject",
    label: "Subject",
    example: "user:ada or group:eng#member",
    list: "relation-types",
  },
] as const;
type Name = (typeof FIELDS)[number]["name"];

export function RelationshipFilters({ failure }: { readonly failure: unknown }) {
  const search = relationshipsRoute.useSearch();
  const navigate = relationshipsRoute.useNavigate();
  const form = useRef<HTMLFormElement>(null);
  useShortcut("/", "Filter the list", () => form.current?.querySelector("input")?.focus());
  const [texts, setTexts] = useState<Record<Name, string>>(() => textsIn(search));
  // Also when somebody goes back, or a cell narrows the list.
  const inAddress = JSON.stringify(textsIn(search));
  useEffect(() => setTexts(JSON.parse(inAddress) as Record<Name, string>), [inAddress]);
  useEffect(() => {
    if (JSON.stringify(texts) === inAddress) return undefined;
    const timer = setTimeout(
      () =>
        void navigate({
          replace: true,
          search: ({ resource: _, relation: __, subject: ___, ...old }) => ({
            ...old,
            ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== "")),
          }),
        }),
      AFTER_MS,
    );
    return () => clearTimeout(timer);
  }, [texts, inAddress, navigate]);
  const isFiltered = Object.keys(filtersOf(search)).length > 0;
  return (
    <form
      ref={form}
      role="search"
      aria-label="Filter the relationships"
      className="grid items-start gap-2 sm:grid-cols-[1fr_1fr_1fr_auto]"
      onSubmit={(event) => event.preventDefault()}
    >
      {FIELDS.map(({ name, label, example, list }) => (
        <TextField
          key={name}
          label={label}
          placeholder={example}
          list={list}
          value={texts[name]}
          onChange={(event) => setTexts((old) => ({ ...old, [name]: event.target.value }))}
          fault={filterFault(name, texts[name]) ?? faultOf(failure, name)}
        />
      ))}
      <span className="sm:pt-6">
        <Button
          disabled={!isFiltered}
          onClick={() => setTexts({ resource: "", relation: "", subject: "" })}
        >
          Clear
        </Button>
      </span>
    </form>
  );
}

const textsIn = (search: { readonly [N in Name]?: string }): Record<Name, string> => ({
  resource: search.resource ?? "",
  relation: search.relation ?? "",
  subject: search.subject ?? "",
});
