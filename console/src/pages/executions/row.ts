// One line of the list: from a page of history, or from the live stream until a page brings the rest.
import type { Outputs } from "../../api/client.ts";
import type { LiveEvent } from "../../api/live.ts";

export type Execution = Outputs["tools"]["getToolStatus"]["execution"];

export interface Row {
  readonly id: string;
  readonly toolName: string;
  readonly category: string;
  readonly status: string;
  readonly userId: string;
  readonly startTime: string;
  readonly executionTime?: number | undefined;
  readonly errorCode?: string | undefined;
  readonly errorReason?: string | undefined;
  readonly cancelReason?: string | undefined;
  readonly approvalId?: string | undefined;
  /** The rest is known once a page has brought it. */
  readonly keyId?: string | undefined;
  readonly agentId?: string | undefined;
  /** The stage that refused or held it. */
  readonly stage?: string | undefined;
  readonly error?: string | undefined;
  /** The beginning of its arguments. */
  readonly preview?: string;
}

const PREVIEW_LENGTH = 160;

/** `path=notes.md content=…`, as the command line takes them. */
export function previewOf(args: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const [name, value] of Object.entries(args)) {
    const shown = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    text += `${text === "" ? "" : "  "}${name}=${shown.slice(0, PREVIEW_LENGTH)}`;
    if (text.length > PREVIEW_LENGTH) break;
  }
  return text.slice(0, PREVIEW_LENGTH).replaceAll(/\s*\n\s*/g, " ⏎ ");
}

export const decisiveStage = ({ gates }: Pick<Execution, "gates">): string | undefined =>
  gates?.find(({ verdict }) => verdict !== "allow")?.stage;

/** Without arguments and results: a list holds very many. */
export function rowOf(execution: Execution): Row {
  const { metadata } = execution;
  const agentId = metadata?.["agentId"];
  return {
    id: execution.id,
    toolName: execution.toolName,
    category: execution.category,
    status: execution.status,
    userId: execution.userId,
    startTime: execution.startTime,
    executionTime: execution.executionTime,
    errorCode: execution.errorCode,
    errorReason: execution.errorReason,
    cancelReason: execution.cancelReason,
    approvalId: execution.approvalId,
    keyId: execution.keyId,
    agentId: typeof agentId === "string" ? agentId : undefined,
    stage: decisiveStage(execution),
    error: execution.error,
    preview: previewOf(execution.arguments),
  };
}

/** Null for events that are not about an execution. */
export function rowOfEvent({ name, data }: LiveEvent): Row | null {
  if (!name.startsWith("tool.execution.")) return null;
  const text = (field: string): string | undefined => {
    const value = data[field];
    return typeof value === "string" ? value : undefined;
  };
  const [id, toolName, startTime] = [text("id"), text("toolName"), text("startTime") ?? text("at")];
  if (id === undefined || toolName === undefined || startTime === undefined) return null;
  const executionTime = data["executionTime"];
  return {
    id,
    toolName,
    category: text("category") ?? "",
    status: text("status") ?? "running",
    userId: text("userId") ?? "",
    startTime,
    executionTime: typeof executionTime === "number" ? executionTime : undefined,
    errorCode: text("errorCode"),
    errorReason: text("errorReason"),
    cancelReason: text("cancelReason"),
    approvalId: text("approvalId"),
  };
}

/** What is known of both; an ended execution stays ended. */
export function merged(known: Row, next: Row): Row {
  return isOpen(next) && !isOpen(known)
    ? { ...given(next), ...given(known) }
    : { ...given(known), ...given(next) };
}

const given = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== undefined),
  ) as unknown as Row;

export const isOpen = ({ status }: Pick<Row, "status">): boolean =>
  status === "running" || status === "pending";
