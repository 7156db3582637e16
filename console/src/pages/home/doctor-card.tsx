// What `ostiary doctor` would say on the machine of the server: only what needs a person.
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Copy } from "../../ui/copy.tsx";
import { Card } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Badge, type Tone } from "../../ui/verdict.tsx";

type Check = Outputs["health"]["getDoctor"]["checks"][number];

const LOOKS: Record<Exclude<Check["status"], "ok">, readonly [Tone, string, string]> = {
  failed: ["deny", "✕", "failed"],
  warning: ["hold", "!", "warning"],
  missing: ["plain", "·", "not installed"],
};
const URGENCY = ["failed", "warning", "missing"];

export function DoctorCard() {
  const query = useData(["doctor"], (signal) => api.health.getDoctor.query({}, { signal }));
  return (
    <Card title="Doctor">
      <Loaded query={query} skeleton={<Skeleton className="h-24" />}>
        {({ checks }) => <Findings checks={checks} />}
      </Loaded>
    </Card>
  );
}

function Findings({ checks }: { readonly checks: readonly Check[] }) {
  const found = checks
    .filter(({ status }) => status !== "ok")
    .sort((a, b) => URGENCY.indexOf(a.status) - URGENCY.indexOf(b.status));
  const fine = checks.length - found.length;
  return (
    <div className="flex flex-col gap-3">
      <p>
        <span aria-hidden="true" className="text-ok">
          ✓{" "}
        </span>
        {fine} of {checks.length} checks are fine
      </p>
      {found.length > 0 ? (
        <ul
          className="flex max-h-72 flex-col gap-3 overflow-y-auto"
          tabIndex={0}
          aria-label="Findings"
        >
          {found.map((check) => (
            <Finding key={check.name} check={check} />
          ))}
        </ul>
      ) : null}
    </div>
  );
}

function Finding({ check: { name, status, detail, fix } }: { readonly check: Check }) {
  if (status === "ok") return null;
  const [tone, sign, word] = LOOKS[status];
  return (
    <li className="flex flex-col gap-0.5">
      <p className="flex items-center gap-2">
        <Badge tone={tone} sign={sign}>
          {word}
        </Badge>
        <strong className="font-medium">{name}</strong>
      </p>
      <p className="text-[13px] text-muted">{detail}</p>
      {fix === undefined ? null : (
        <p className="flex min-w-0 items-center gap-1">
          <code className="min-w-0 rounded bg-raised px-1.5 py-0.5">{fix}</code>
          <Copy text={fix} label={`Copy the fix for ${name}`} />
        </p>
      )}
    </li>
  );
}
