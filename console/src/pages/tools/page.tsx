// The catalogue: every tool with how it stands for the chosen caller.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Eye } from "lucide-react";
import { useMemo, useState } from "react";
import { useIsAdmin } from "../../app/session.tsx";
import { Button } from "../../ui/button.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { Categories } from "./categories.tsx";
import { Filters } from "./filters.tsx";
import { filtered, isSupposed } from "./search.ts";
import { ToolTable } from "./table.tsx";
import { ToolsTabs } from "./tools-tabs.tsx";
import { useCatalogue } from "./use-catalogue.ts";
import { ViewAs } from "./view-as.tsx";

export function ToolsPage() {
  const search = useSearch({ from: "/tools" });
  const navigate = useNavigate({ from: "/tools" });
  const isAdmin = useIsAdmin();
  const catalogue = useCatalogue(search);
  const [isOpen, setOpen] = useState(isSupposed(search));
  const tools = catalogue.data?.tools;
  const rows = useMemo(() => sorted(filtered(tools ?? [], search)), [tools, search]);
  return (
    <Page
      title="Tools"
      wide
      lead="What agents and people can call here, and how each tool stands before any argument is looked at."
      actions={
        <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Eye size={15} aria-hidden /> {isAdmin ? "View as …" : "Suppose …"}
        </Button>
      }
    >
      <ToolsTabs current="catalogue">
        {isOpen ? <ViewAs search={search} who={catalogue.data?.who} /> : null}
        <Loaded query={catalogue} skeleton={<Skeleton className="h-[70vh] w-full" />}>
          {({ tools: all, counts }) =>
            all.length === 0 ? (
              <Card>
                <Empty
                  title="No tools here"
                  text={
                    isSupposed(search)
                      ? "This caller sees none."
                      : "Your key's capsule holds none. An administrator can add some to it."
                  }
                  command="ostiary tools list"
                />
              </Card>
            ) : (
              <div className="flex flex-col gap-3">
                <Filters all={all} counts={counts} search={search} />
                <div className="grid items-start gap-4 2xl:grid-cols-[11rem_1fr]">
                  <Categories all={all} search={search} />
                  <Card flush>
                    {rows.length > 0 ? (
                      <ToolTable rows={rows} />
                    ) : (
                      <Empty
                        title="No tool fits these filters"
                        action={
                          <Button
                            onClick={() =>
                              void navigate({
                                search: ({ as, capsule, session, mode, at }) => ({
                                  as,
                                  capsule,
                                  session,
                                  mode,
                                  at,
                                }),
                              })
                            }
                          >
                            Clear the filters
                          </Button>
                        }
                      />
                    )}
                  </Card>
                </div>
              </div>
            )
          }
        </Loaded>
      </ToolsTabs>
    </Page>
  );
}

const sorted = <T extends { readonly name: string }>(tools: readonly T[]): readonly T[] =>
  [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
