// One tool of a server: what changed, what was found, and what an approval would mean.
import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Code, visibleText } from "../../../ui/code.tsx";
import { DiffLines, unifiedLines } from "../../../ui/diff.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { ToolStateBadge } from "../health.tsx";
import type { ServerToolDetails } from "../types.ts";
import { Decide } from "./decide.tsx";
import { Findings } from "./findings.tsx";
import { Versions } from "./versions.tsx";

export function ToolDetail({ server, tool }: { readonly server: string; readonly tool: string }) {
  const query = useData(["servers", "tool", server, tool], (signal) =>
    api.servers.getServerTool.query({ name: server, tool }, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {(details) => <Details details={details} />}
    </Loaded>
  );
}

function Details({ details }: { readonly details: ServerToolDetails }) {
  const { server, state, reason, findings, diff, text, description, versions } = details;
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <ToolStateBadge state={state} />
        {state === "pending" || state === "changed" || state === "rejected" ? (
          <div className="flex gap-2">
            <Decide server={server} tools={[details]} />
          </div>
        ) : null}
      </div>
      {reason === null ? null : <p>{visibleText(reason)}</p>}
      {description === "" ? null : (
        <p className="whitespace-pre-wrap">{visibleText(description)}</p>
      )}
      {diff.length > 0 ? (
        <Part title="Changed since it was approved">
          <DiffLines lines={unifiedLines(diff)} label="difference to the approved definition" />
        </Part>
      ) : null}
      {findings.length > 0 ? (
        <Part title="Findings">
          <Findings findings={findings} />
        </Part>
      ) : null}
      <Part title={details.approvedPin === null ? "Proposed terms" : "Terms"}>
        <Terms details={details} />
      </Part>
      <Part title="Definition as offered now">
        <Code text={text} label="definition" />
      </Part>
      <Part title="Versions">
        <Versions server={server} tool={details.name} versions={versions} />
      </Part>
    </>
  );
}

function Terms({ details }: { readonly details: ServerToolDetails }) {
  const { terms, capsules, decidedBy, decidedAt, seenAt, name } = details;
  return (
    <Facts
      rows={[
        ["Risk", terms.risk],
        ["Effect", terms.effects.replaceAll("_", " ")],
        ["Category", terms.category],
        ["Repeatable", terms.idempotent ? "yes, may be sent again" : "no"],
        ["Open world", terms.openWorld ? "yes, it reads content from outside" : "no"],
        [
          "Capsules",
          capsules.length === 0
            ? "none"
            : capsules.map((id) => (
                <Link key={id} to="/people" search={{ tab: "capsules", id }} className="mr-2">
                  {id}
                </Link>
              )),
        ],
        [
          "Decided",
          decidedAt === null ? (
            "not yet"
          ) : (
            <>
              <Time at={decidedAt} /> by {decidedBy}
            </>
          ),
        ],
        ["Seen last", <Time key="seen" at={seenAt} />],
        [
          "In the catalogue",
          details.state === "approved" ? (
            <a key="tool" href={`/tools/${name}`}>
              {name}
            </a>
          ) : (
            "hidden until it is approved"
          ),
        ],
      ]}
    />
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="flex flex-col gap-1.5">
      <h3>{title}</h3>
      {children}
    </section>
  );
}
