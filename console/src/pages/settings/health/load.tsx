import { Link } from "@tanstack/react-router";
import type { Outputs } from "../../../api/client.ts";
import { visibleText } from "../../../ui/code.tsx";
import { Facts } from "../../../ui/page.tsx";

type LoadFigures = NonNullable<Outputs["health"]["getHealth"]["load"]>;

const BREAKERS = { closed: "closed", half_open: "half open", open: "open" };

/** What runs and waits on the server. */
export function Load({ load }: { readonly load: LoadFigures }) {
  const { running, waiting, slots, approvalsPending, outboxPending, ledger } = load;
  const { servers, tools, sandbox } = load;
  return (
    <Facts
      rows={[
        ["Running", `${running} of ${slots} slots, ${waiting} waiting`],
        [
          "Approvals",
          <Link key="approvals" to="/approvals">
            {approvalsPending} waiting for a person
          </Link>,
        ],
        [
          "Ledger",
          <Link key="ledger" to="/audit">
            event {ledger.head.toLocaleString()}, {ledger.sinceCheckpoint.toLocaleString()} since
            the last checkpoint
          </Link>,
        ],
        [
          "Events to send on",
          outboxPending === null ? "no sink is set" : outboxPending.toLocaleString(),
        ],
        ["Sandbox", sandbox.ready ? "✓ ready" : `✕ ${visibleText(sandbox.reason ?? "not ready")}`],
        [
          "Servers",
          servers.length === 0
            ? "none"
            : servers.map(({ name, up, breaker }) => (
                <span key={name} className="mr-3 whitespace-nowrap">
                  {up ? "✓" : "✕"}{" "}
                  <Link to="/servers/$name" params={{ name }}>
                    {name}
                  </Link>
                  {breaker === "closed" ? "" : ` (breaker ${BREAKERS[breaker]})`}
                </span>
              )),
        ],
        [
          "Paused tools",
          tools.length === 0
            ? "none"
            : tools.map(({ name, breaker }) => `${name} (breaker ${BREAKERS[breaker]})`).join(", "),
        ],
      ]}
    />
  );
}
