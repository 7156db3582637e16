// Work that goes on without a person at the keyboard: workflows, schedules, and questions that agents ask.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useIsAdmin } from "../../app/session.tsx";
import { Check } from "../../ui/field.tsx";
import { Page } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { type Of, useQuestions } from "./data.ts";
import { Questions } from "./questions/questions.tsx";
import type { WorkTab } from "./routes.ts";
import { Schedules } from "./schedules/schedules.tsx";
import { Workflows } from "./workflows.tsx";

const route = getRouteApi("/work");

export function WorkPage() {
  const { tab = "workflows", of, id } = route.useSearch();
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const go = (next: WorkTab, whose: Of): void =>
    void navigate({
      to: "/work",
      search: { tab: next, ...(whose ? { of: whose } : {}) },
      replace: true,
    });
  const open = useQuestions().data?.items.filter(({ state }) => state === "pending").length ?? 0;
  return (
    <Page
      title="Work"
      lead="Workflows and their runs, schedules, and questions that agents ask you."
      wide
      actions={
        isAdmin && tab !== "questions" ? (
          <Check
            label="Everybody’s"
            checked={of === "everyone"}
            onChange={(event) => go(tab, event.target.checked ? "everyone" : undefined)}
          />
        ) : null
      }
    >
      <Tabs
        label="Work"
        value={tab}
        onChange={(id) => go(id as WorkTab, of)}
        tabs={[
          {
            id: "workflows",
            label: "Workflows",
            content: tab === "workflows" ? <Workflows of={of} /> : null,
          },
          {
            id: "schedules",
            label: "Schedules",
            content: tab === "schedules" ? <Schedules of={of} current={id} /> : null,
          },
          {
            id: "questions",
            label: open > 0 ? `Questions · ${open} open` : "Questions",
            content: tab === "questions" ? <Questions current={id} /> : null,
          },
        ]}
      />
    </Page>
  );
}
