// Both ways: what a subject may do, and who may do something.
import { useEffect, useState } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Select, TextField } from "../../ui/field.tsx";
import { Card } from "../../ui/page.tsx";
import { Empty, Failed, Skeleton } from "../../ui/states.tsx";
import { Badge } from "../../ui/verdict.tsx";
import { relationshipsRoute } from "./routes.ts";

interface Found {
  readonly id: string;
  readonly has: "yes" | "no" | "conditional";
  readonly missing: readonly string[];
  readonly except?: readonly string[];
}

const MAX_SHOWN = 500;

export function LookupTab() {
  const { lookup = "resources", who, permission, on, type } = relationshipsRoute.useSearch();
  const about = lookup === "resources" ? who : on;
  const isAsked = about !== undefined && permission !== undefined && type !== undefined;
  const query = useData(
    ["relationships", "lookup", lookup, about, permission, type],
    async (signal): Promise<readonly Found[]> => {
      const asked = { about: about ?? "", permission: permission ?? "", type: type ?? "" };
      const { items } =
        lookup === "resources"
          ? await api.relationships.lookupResources.query(
              { subject: asked.about, permission: asked.permission, type: asked.type },
              { signal },
            )
          : await api.relationships.lookupSubjects.query(
              { resource: asked.about, permission: asked.permission, subjectType: asked.type },
              { signal },
            );
      return items;
    },
    { enabled: isAsked },
  );
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <Card title="Question">
        <LookupForm />
      </Card>
      <section aria-label="Found" aria-live="polite">
        {!isAsked ? (
          <Empty
            title="Ask in either direction"
            text="All things a subject has a permission on, or all subjects that have one."
          />
        ) : query.isError ? (
          <Failed cause={query.error} />
        ) : query.data ? (
          <Results found={query.data} type={type} />
        ) : (
          <Skeleton className="h-48 w-full" />
        )}
      </section>
    </div>
  );
}

function LookupForm() {
  const search = relationshipsRoute.useSearch();
  const navigate = relationshipsRoute.useNavigate();
  const [way, setWay] = useState<"resources" | "subjects">(search.lookup ?? "resources");
  const [about, setAbout] = useState("");
  const [permission, setPermission] = useState("");
  const [type, setType] = useState("");
  const given = way === "resources" ? search.who : search.on;
  useEffect(() => {
    setAbout(given ?? "");
    setPermission(search.permission ?? "execute");
    setType(search.type ?? (way === "resources" ? "tool" : "user"));
  }, [given, search.permission, search.type, way]);
  const isResources = way === "resources";
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({
          search: (old) => ({
            ...old,
            lookup: way,
            permission: permission.trim(),
            type: type.trim(),
            ...(isResources ? { who: about.trim() } : { on: about.trim() }),
          }),
        });
      }}
    >
      <Select
        label="Find"
        value={way}
        onChange={(event) => {
          const next = event.target.value as typeof way;
          setWay(next);
          void navigate({ search: ({ type: _, ...old }) => ({ ...old, lookup: next }) });
        }}
        options={[
          ["resources", "what somebody may do"],
          ["subjects", "who may do something"],
        ]}
      />
      <TextField
        label={isResources ? "Who" : "To what"}
        placeholder={isResources ? "user:ada" : "tool:system/echo"}
        list="relation-types"
        value={about}
        onChange={(event) => setAbout(event.target.value)}
      />
      <TextField
        label="Permission"
        list="permission-names"
        value={permission}
        onChange={(event) => setPermission(event.target.value)}
      />
      <TextField
        label={isResources ? "On things of type" : "Subjects of type"}
        list="relation-types"
        value={type}
        onChange={(event) => setType(event.target.value)}
      />
      <Button
        type="submit"
        look="primary"
        disabled={[about, permission, type].some((text) => text.trim() === "")}
      >
        Look up
      </Button>
    </form>
  );
}

function Results({ found, type }: { readonly found: readonly Found[]; readonly type: string }) {
  const { who, permission, on, lookup = "resources" } = relationshipsRoute.useSearch();
  const navigate = relationshipsRoute.useNavigate();
  if (found.length === 0)
    return <Empty title={`No ${type} was found`} text="Nothing written down leads there." />;
  return (
    <Card title={`${found.length.toLocaleString("en")} found`} flush>
      <ul className="max-h-[60vh] overflow-y-auto">
        {found.slice(0, MAX_SHOWN).map(({ id, has, missing, except = [] }) => (
          <li
            key={id}
            className="flex min-h-9 flex-wrap items-center gap-x-3 border-b border-line/60 px-4 last:border-b-0"
          >
            <code>
              {type}:{id}
            </code>
            {has === "conditional" ? (
              <Badge tone="hold" sign="⏸">
                depends on {missing.join(", ")}
              </Badge>
            ) : null}
            {except.length > 0 ? (
              <span className="text-muted">without {except.join(", ")}</span>
            ) : null}
            <span className="ml-auto">
              <Button
                small
                look="quiet"
                aria-label={`Why ${type}:${id}?`}
                onClick={() =>
                  void navigate({
                    search: {
                      tab: "check",
                      ...(permission === undefined ? {} : { permission }),
                      ...(lookup === "resources"
                        ? { on: `${type}:${id}`, ...(who === undefined ? {} : { who }) }
                        : { who: `${type}:${id}`, ...(on === undefined ? {} : { on }) }),
                    },
                  })
                }
              >
                Why?
              </Button>
            </span>
          </li>
        ))}
      </ul>
      {found.length > MAX_SHOWN ? (
        <p className="px-4 py-2 text-muted">
          The first {MAX_SHOWN} are shown. All of them: <code>ostiary relations lookup --json</code>
        </p>
      ) : null}
    </Card>
  );
}
