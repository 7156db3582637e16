import { api, type Outputs } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { Card } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";

type Check = Outputs["health"]["getDoctor"]["checks"][number];

const LOOKS: Record<Check["status"], readonly [Tone, string, string]> = {
  failed: ["deny", "✕", "failed"],
  warning: ["hold", "▲", "warning"],
  missing: ["plain", "○", "not installed"],
  ok: ["ok", "✓", "ok"],
};
const ORDER = Object.keys(LOOKS);

/** The checks of `ostiary doctor`, what is wrong first, each with the line that mends it. */
export function Doctor() {
  const query = useData(["doctor"], (signal) => api.health.getDoctor.query(undefined, { signal }));
  return (
    <Card
      title="Doctor"
      className="lg:col-span-2"
      flush
      actions={
        <Button small busy={query.isFetching} onClick={() => void query.refetch()}>
          Check again
        </Button>
      }
    >
      <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
        {({ checks }) => (
          <ul>
            {checks
              .toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))
              .map((check) => (
                <CheckRow key={check.name} check={check} />
              ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}

function CheckRow({ check: { name, status, detail, fix } }: { readonly check: Check }) {
  const [tone, sign, word] = LOOKS[status];
  return (
    <li className="grid gap-x-4 gap-y-1 border-b border-line/60 px-4 py-2 last:border-0 sm:grid-cols-[7rem_10rem_1fr]">
      <span>
        <Badge tone={tone} sign={sign}>
          {word}
        </Badge>
      </span>
      <span className="font-medium">{name}</span>
      <span className="min-w-0">
        {visibleText(detail)}
        {fix === undefined ? null : (
          <span className="mt-1 flex items-center gap-1">
            <code className="min-w-0 rounded bg-raised px-1.5 py-0.5">{visibleText(fix)}</code>
            <Copy text={fix} label={`Copy the fix of ${name}`} />
          </span>
        )}
      </span>
    </li>
  );
}
