// One event as it lies in the ledger, or two beside each other.
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Code, Json, jsonText } from "../../ui/code.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Diff } from "../../ui/diff.tsx";
import { TextField } from "../../ui/field.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { Facts } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { exactTime, Time } from "../../ui/time.tsx";
import { type LedgerEvent, useEvent } from "./events.ts";
import { auditRoute } from "./routes.ts";

export function EventDetail({ seq }: { readonly seq: number }) {
  const { with: other } = auditRoute.useSearch();
  return (
    <Loaded query={useEvent(seq)}>
      {(event) =>
        event === null ? (
          <Empty
            title={`There is no event ${seq} here`}
            text="It may belong to another tenant, or lie in an archived file."
          />
        ) : (
          <>
            <EventFacts event={event} />
            <Compare event={event} />
            {other === undefined ? (
              <Json value={event.body} label="Body of the event" />
            ) : (
              <Compared event={event} other={other} />
            )}
          </>
        )
      }
    </Loaded>
  );
}

function EventFacts({ event }: { readonly event: LedgerEvent }) {
  const { at, action, actor, executionId, instanceId, n, prevHash, hash, seq } = event;
  return (
    <Facts
      rows={[
        ["Action", <code key="action">{action}</code>],
        ["Actor", actor],
        [
          "Time",
          <span key="at">
            {exactTime(at)}, <Time at={at} />
          </span>,
        ],
        [
          "Execution",
          executionId === null ? null : (
            <HrefLink
              key="execution"
              href={`/executions/${executionId}`}
              className="font-mono text-[12.5px]"
            >
              {executionId}
            </HrefLink>
          ),
        ],
        ["Server", instanceId === null ? null : <code key="server">{instanceId}</code>],
        ["Place in its chain", n === null ? "older than the chain" : n.toLocaleString("en")],
        [
          "Hash before",
          prevHash === null ? null : (
            <span key="before" className="flex items-center gap-1">
              <code className="min-w-0 break-all">{prevHash}</code>
              {seq > 1 ? <Copy text={prevHash} label="Copy the hash before" /> : null}
            </span>
          ),
        ],
        [
          "Hash",
          hash === null ? null : (
            <span key="hash" className="flex items-center gap-1">
              <code className="min-w-0 break-all">{hash}</code>
              <Copy text={hash} label="Copy the hash" />
            </span>
          ),
        ],
      ]}
    />
  );
}

function Compare({ event }: { readonly event: LedgerEvent }) {
  const { with: other } = auditRoute.useSearch();
  const navigate = auditRoute.useNavigate();
  const [text, setText] = useState("");
  const to = Number(text);
  const isFit = Number.isSafeInteger(to) && to > 0 && to !== event.seq;
  const choose = (number: number | null): void =>
    void navigate({
      replace: true,
      search: ({ with: _, ...old }) => (number === null ? old : { ...old, with: number }),
    });
  if (other !== undefined)
    return (
      <div>
        <Button small onClick={() => choose(null)}>
          Stop comparing
        </Button>
      </div>
    );
  return (
    <form
      className="flex items-end gap-2"
      onSubmit={(submit) => {
        submit.preventDefault();
        if (isFit) choose(to);
      }}
    >
      <TextField
        label="Compare with event"
        inputMode="numeric"
        className="w-40"
        placeholder={String(event.seq - 1)}
        value={text}
        onChange={(change) => setText(change.target.value)}
      />
      <Button type="submit" disabled={!isFit}>
        Compare
      </Button>
    </form>
  );
}

function Compared({ event, other }: { readonly event: LedgerEvent; readonly other: number }) {
  return (
    <Loaded query={useEvent(other)}>
      {(found) =>
        found === null ? (
          <Code text={jsonText(event.body)} label="Body of the event" />
        ) : (
          <section aria-label="Comparison" className="flex flex-col gap-1">
            <h3>
              From event {found.seq} to event {event.seq}
            </h3>
            <Diff
              label={`Event ${found.seq} compared with event ${event.seq}`}
              before={jsonText(found)}
              after={jsonText(event)}
            />
          </section>
        )
      }
    </Loaded>
  );
}
