// May this subject do that to this thing, and why.
import { useEffect, useState } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Card } from "../../ui/page.tsx";
import { Empty, Failed, Loaded, Skeleton } from "../../ui/states.tsx";
import { Badge, type Tone } from "../../ui/verdict.tsx";
import { faultOf } from "./relationships.ts";
import { relationshipsRoute } from "./routes.ts";
import { Tree } from "./tree.tsx";

type Answer = Outputs["relationships"]["checkRelationship"];

const LOOKS: Record<Answer["has"], readonly [Tone, string, string]> = {
  yes: ["ok", "✓", "yes"],
  no: ["deny", "⛔", "no"],
  conditional: ["hold", "⏸", "it depends"],
};

export function CheckTab() {
  const { who, permission, on } = relationshipsRoute.useSearch();
  const isAsked = who !== undefined && permission !== undefined && on !== undefined;
  const check = useData(
    ["relationships", "check", who, permission, on],
    (signal) =>
      api.relationships.checkRelationship.query(
        { subject: who ?? "", permission: permission ?? "", resource: on ?? "" },
        { signal },
      ),
    { enabled: isAsked },
  );
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <Card title="Question">
        <QuestionForm failure={check.error} />
      </Card>
      <section aria-label="Answer" aria-live="polite" className="flex flex-col gap-3">
        {!isAsked ? (
          <Empty
            title="Ask who may do what"
            text="The answer comes with the tree of relations behind it."
            command="ostiary relations check tool:system/echo#execute@user:ada"
          />
        ) : check.isError ? (
          <Failed cause={check.error} />
        ) : check.data ? (
          <>
            <Sentence answer={check.data} who={who} permission={permission} on={on} />
            <Why who={who} permission={permission} on={on} />
          </>
        ) : (
          <Skeleton className="h-48 w-full" />
        )}
      </section>
    </div>
  );
}

function QuestionForm({ failure }: { readonly failure: unknown }) {
  const search = relationshipsRoute.useSearch();
  const navigate = relationshipsRoute.useNavigate();
  const [who, setWho] = useState("");
  const [permission, setPermission] = useState("");
  const [on, setOn] = useState("");
  useEffect(() => {
    setWho(search.who ?? "");
    setPermission(search.permission ?? "");
    setOn(search.on ?? "");
  }, [search.who, search.permission, search.on]);
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({
          search: (old) => ({
            ...old,
            who: who.trim(),
            permission: permission.trim(),
            on: on.trim(),
          }),
        });
      }}
    >
      <TextField
        label="Who"
        placeholder="user:ada"
        list="relation-types"
        value={who}
        onChange={(event) => setWho(event.target.value)}
        fault={faultOf(failure, "subject")}
      />
      <TextField
        label="May do"
        placeholder="execute"
        list="permission-names"
        value={permission}
        onChange={(event) => setPermission(event.target.value)}
        fault={faultOf(failure, "permission")}
      />
      <TextField
        label="To"
        placeholder="tool:system/echo"
        list="relation-types"
        value={on}
        onChange={(event) => setOn(event.target.value)}
        fault={faultOf(failure, "resource")}
      />
      <Button
        type="submit"
        look="primary"
        disabled={[who, permission, on].some((text) => text.trim() === "")}
      >
        Check
      </Button>
    </form>
  );
}

interface Question {
  readonly who: string;
  readonly permission: string;
  readonly on: string;
}

function Sentence({ answer, who, permission, on }: Question & { readonly answer: Answer }) {
  const [tone, sign, word] = LOOKS[answer.has];
  return (
    <div className="flex flex-wrap items-center gap-2 text-[15px]">
      <Badge tone={tone} sign={sign}>
        {word}
      </Badge>
      <span>
        <code>{who}</code> {answer.has === "no" ? "does not have" : "has"} <code>{permission}</code>{" "}
        on <code>{on}</code>
        {answer.has === "conditional"
          ? `, if what is missing fits: ${answer.missing.join(", ")}`
          : ""}
      </span>
    </div>
  );
}

function Why({ who, permission, on }: Question) {
  const tree = useData(["relationships", "expand", on, permission], (signal) =>
    api.relationships.expandRelationship.query({ resource: on, permission }, { signal }),
  );
  return (
    <Card title="Why: what is written down behind the permission">
      <Loaded query={tree}>{(root) => <Tree root={root} who={who} />}</Loaded>
    </Card>
  );
}
