// How a server is, in one sign and one word, and what of its tools waits for a decision.
import { Badge, type Tone } from "../../ui/verdict.tsx";
import type { Server, ServerTool } from "./types.ts";

interface Look {
  readonly sign: string;
  readonly tone: Tone;
  readonly word: string;
}

export function healthLook({ enabled, health }: Pick<Server, "enabled" | "health">): Look {
  if (!enabled || health?.status === "off")
    return { sign: "○", tone: "plain", word: "switched off" };
  if (health === null) return { sign: "…", tone: "plain", word: "not started" };
  if (health.breaker === "open") return { sign: "✕", tone: "deny", word: "paused after failures" };
  switch (health.status) {
    case "up":
      return { sign: "✓", tone: "ok", word: "up" };
    case "connecting":
      return { sign: "…", tone: "info", word: "connecting" };
    case "login_needed":
      return { sign: "⏸", tone: "hold", word: "login needed" };
    case "down":
      return { sign: "✕", tone: "deny", word: "down" };
  }
}

export function HealthBadge({ server }: { readonly server: Pick<Server, "enabled" | "health"> }) {
  const { sign, tone, word } = healthLook(server);
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}

/** Tools nobody has decided on yet. */
export const toReview = ({ tools }: Pick<Server, "tools">): number => tools.pending + tools.changed;

export const needsAttention = (server: Server): boolean =>
  toReview(server) > 0 || !["ok", "plain"].includes(healthLook(server).tone);

export function ToolCounts({ tools }: { readonly tools: Server["tools"] }) {
  const { approved, pending, changed, removed } = tools;
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <span className="tabular-nums">{approved} approved</span>
      {pending > 0 ? (
        <Badge tone="hold" sign="⏸">
          {pending} new
        </Badge>
      ) : null}
      {changed > 0 ? (
        <Badge tone="hold" sign="±">
          {changed} changed
        </Badge>
      ) : null}
      {removed > 0 ? <Badge sign="−">{removed} removed</Badge> : null}
    </span>
  );
}

const STATES: Record<ServerTool["state"], Look> = {
  pending: { sign: "⏸", tone: "hold", word: "new" },
  approved: { sign: "✓", tone: "ok", word: "approved" },
  changed: { sign: "±", tone: "hold", word: "changed" },
  removed: { sign: "−", tone: "plain", word: "removed" },
  rejected: { sign: "⛔", tone: "deny", word: "rejected" },
  refused: { sign: "✕", tone: "deny", word: "cannot be used" },
};

export const stateWord = (state: ServerTool["state"]): string => STATES[state].word;

export function ToolStateBadge({ state }: { readonly state: ServerTool["state"] }) {
  const { sign, tone, word } = STATES[state];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}

/** Where it is, for lists: the program or the host. */
export function whereOf({ transport }: Pick<Server, "transport">): string {
  if (transport.kind === "stdio") return transport.argv.join(" ");
  return transport.url;
}

export const KINDS: Record<Server["transport"]["kind"], string> = {
  stdio: "program",
  http: "MCP over HTTP",
  sse: "MCP over SSE",
  api: "HTTP API",
};

export const eraOf = ({ health }: Pick<Server, "health">): string | null =>
  health?.protocolVersion == null ? null : `MCP ${health.protocolVersion}`;
