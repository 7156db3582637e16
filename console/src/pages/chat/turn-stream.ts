// What happens in a turn while it goes on.
import { useEffect, useState } from "react";
import type { Outputs } from "../../api/client.ts";
import { queryClient } from "../../api/query.ts";

export type Turn = Outputs["chat"]["getTurn"];

export interface LiveCall {
  readonly callId: string;
  readonly tool: string;
  readonly status: string;
  readonly executionId: string | null;
  readonly approvalId: string | null;
  readonly reason?: string | undefined;
}

export interface LiveTurn {
  readonly phase: string;
  /** What the model has said so far in this round. */
  readonly text: string;
  readonly calls: readonly LiveCall[];
}

const EMPTY: LiveTurn = { phase: "receive", text: "", calls: [] };

type Data = Readonly<Record<string, unknown>>;
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const idOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Follows the turn until it has ended; then everything about its session is read anew. */
export function useTurnStream(turnId: string | null): LiveTurn {
  const [turn, setTurn] = useState<LiveTurn>(EMPTY);
  useEffect(() => {
    if (turnId === null) return undefined;
    setTurn(EMPTY);
    const source = new EventSource(`/api/v1/turns/${turnId}/events`);
    const on = (name: string, change: (before: LiveTurn, data: Data) => LiveTurn): void =>
      source.addEventListener(name, (event: MessageEvent<string>) => {
        const data = JSON.parse(event.data) as Data;
        setTurn((before) => change(before, data));
      });
    // The stream tells a turn from its beginning each time it is opened.
    source.addEventListener("open", () => setTurn(EMPTY));
    on("phase", (before, data) => ({ ...before, phase: textOf(data["phase"]) }));
    on("text", (before, data) => ({ ...before, text: before.text + textOf(data["text"]) }));
    on("tool_call", (before, data) => ({
      ...before,
      text: "",
      calls: withCall(before, data, "running"),
    }));
    on("waiting", (before, data) => ({ ...before, calls: withCall(before, data, "pending") }));
    on("tool_result", (before, data) => ({
      ...before,
      calls: withCall(before, data, textOf(data["status"])),
    }));
    source.addEventListener("question", () => refresh());
    // A result may have brought content from outside, which the session shows.
    source.addEventListener("tool_result", () => refresh(["sessions"]));
    source.addEventListener("done", () => {
      source.close();
      refresh();
    });
    return () => source.close();
  }, [turnId]);
  return turn;
}

function refresh(nouns: readonly string[] = ["sessions", "messages", "turns"]): void {
  for (const noun of nouns) void queryClient.invalidateQueries({ queryKey: [noun] });
}

function withCall({ calls }: LiveTurn, data: Data, status: string): readonly LiveCall[] {
  const callId = textOf(data["callId"]);
  const known = calls.find((call) => call.callId === callId);
  const call: LiveCall = {
    callId,
    tool: textOf(data["tool"]) || (known?.tool ?? ""),
    status,
    executionId: idOf(data["executionId"]) ?? known?.executionId ?? null,
    approvalId: idOf(data["approvalId"]) ?? known?.approvalId ?? null,
    reason: idOf(data["reason"]) ?? undefined,
  };
  return known ? calls.map((one) => (one === known ? call : one)) : [...calls, call];
}
