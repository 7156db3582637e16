import { visibleText } from "../../../ui/code.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import type { Effect } from "../approval.ts";

type Shell = Extract<Effect, { kind: "shell" }>;
type Http = Extract<Effect, { kind: "http" }>;

const VERDICTS: Record<Http["verdict"], { sign: string; tone: Tone; word: string }> = {
  run: { sign: "✓", tone: "ok", word: "may run" },
  ask: { sign: "⏸", tone: "hold", word: "asks" },
  deny: { sign: "⛔", tone: "deny", word: "denied" },
};

function Verdict({ verdict }: { readonly verdict: Http["verdict"] }) {
  const { sign, tone, word } = VERDICTS[verdict];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}

/** Every simple command of the line, with the rule that matched it. */
export function CommandList({ effect }: { readonly effect: Shell }) {
  return (
    <ol className="flex flex-col gap-2">
      {effect.commands.map(({ text, verdict, message, rule }, at) => (
        <li key={at} className="flex flex-col gap-1 rounded-md border border-line p-2.5">
          <p className="flex flex-wrap items-center gap-2">
            <Verdict verdict={verdict} />
            <code className="min-w-0 font-semibold break-all">{visibleText(text)}</code>
          </p>
          {message === undefined ? null : <p className="text-[13px]">{visibleText(message)}</p>}
          <p className="text-[13px] text-muted">
            rule <code>{visibleText(rule.text)}</code> in <code>{rule.at}</code>
          </p>
        </li>
      ))}
    </ol>
  );
}

export function HttpRequest({ effect }: { readonly effect: Http }) {
  const { method, url, host, verdict, message, rule, bodyBytes } = effect;
  return (
    <Facts
      rows={[
        [
          "Request",
          <code key="request" className="break-all">
            {method} {visibleText(url)}
          </code>,
        ],
        [
          "Host",
          <span key="host" className="flex flex-wrap items-center gap-2">
            <code>{visibleText(host)}</code> <Verdict verdict={verdict} />
            {message === undefined ? null : visibleText(message)}
          </span>,
        ],
        [
          "Rule",
          <span key="rule">
            <code>{visibleText(rule.text)}</code> in <code>{rule.at}</code>
          </span>,
        ],
        ["Body", bodyBytes === 0 ? "none" : `${bodyBytes.toLocaleString()} bytes`],
      ]}
    />
  );
}
