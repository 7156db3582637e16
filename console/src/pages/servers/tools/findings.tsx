// What the checks of a definition found, with the place and what stands there.
import { visibleText } from "../../../ui/code.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import type { ServerTool } from "../types.ts";

type Finding = ServerTool["findings"][number];

const LOOKS: Record<Finding["severity"], readonly [Tone, string]> = {
  danger: ["deny", "!"],
  warning: ["hold", "▲"],
  info: ["info", "i"],
};

export const dangersIn = (tools: readonly Pick<ServerTool, "findings">[]): number =>
  tools.flatMap(({ findings }) => findings).filter(({ severity }) => severity === "danger").length;

export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {findings.map(({ kind, severity, path, message, excerpt }) => {
        const [tone, sign] = LOOKS[severity];
        return (
          <li key={`${kind} ${path} ${excerpt}`} className="flex flex-col gap-0.5">
            <span className="flex flex-wrap items-center gap-2">
              <Badge tone={tone} sign={sign}>
                {severity}
              </Badge>
              {visibleText(message)}
            </span>
            <span className="text-xs text-muted">
              at <code>{visibleText(path)}</code>
              {excerpt === "" ? null : (
                <>
                  : <code>{visibleText(excerpt)}</code>
                </>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
