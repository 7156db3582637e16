// Why a call is, would be or was allowed or refused.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useIsAdmin } from "../../app/session.tsx";
import { cx } from "../../ui/class-names.ts";
import { Page } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Answer } from "./answer.tsx";
import { MissingTools } from "./missing.tsx";
import { PastCall } from "./past-call.tsx";
import { Question } from "./question.tsx";
import { questionOf } from "./search.ts";

export function ExplainPage() {
  const isAdmin = useIsAdmin();
  const search = useSearch({ from: "/explain" });
  const navigate = useNavigate({ from: "/explain" });
  const call = <CallView />;
  return (
    <Page
      title="Explain"
      wide
      lead="What the gate says about a call, planned or past, and what would change its answer. Nothing runs."
    >
      {isAdmin ? (
        <Tabs
          label="What to explain"
          value={search.view ?? "call"}
          onChange={(view) =>
            void navigate({
              search: (now) => ({ ...now, view: view === "missing" ? "missing" : undefined }),
            })
          }
          tabs={[
            { id: "call", label: "A call", content: call },
            { id: "missing", label: "Missing tools", content: <MissingTools /> },
          ]}
        />
      ) : (
        call
      )}
    </Page>
  );
}

function CallView() {
  const search = useSearch({ from: "/explain" });
  const question = questionOf(search);
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(18rem,24rem)_1fr]">
      {search.execution === undefined ? (
        <Question key={JSON.stringify(search)} search={search} />
      ) : (
        <PastCall id={search.execution} />
      )}
      {/* Where both do not fit side by side, the answer is what one came for. */}
      <div className={cx("min-w-0", question !== null && "max-lg:order-first")}>
        <Answer question={question} search={search} />
      </div>
    </div>
  );
}
