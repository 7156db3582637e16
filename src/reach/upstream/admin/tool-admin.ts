// What administrators decide about the tools of a server: approve, reject, go back to an earlier definition.
import type { Caller, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { Action, ServerRow, ServerToolRow, Store } from "../../../storage/store/store.ts";
import type { Review } from "../definitions/review.ts";
import { approveTools } from "./approve-tools.ts";
import type { ServerAdmin, ServerToolView } from "./server-admin.ts";
import { toolDetails } from "./tool-details.ts";
import type { ToolLinks } from "./tool-links.ts";
import { approvedVersion, decidedBy, selectTools, unknownTool } from "./tool-selection.ts";
import { toolView, toolViews } from "./views.ts";

export interface ToolAdminPowers {
  readonly store: Pick<Store, "serverTools" | "capsules">;
  readonly review: Review;
  readonly links: ToolLinks;
  readonly now: () => number;
  readonly note: (action: Action, who: Caller, body: JsonObject) => Promise<void>;
  /** The actor's own server of this name, or a fault. */
  readonly ownServer: (actor: Caller, name: string) => Promise<ServerRow>;
}

type ToolAdmin = Pick<ServerAdmin, "tools" | "tool" | "approve" | "reject" | "rollback">;

export function createToolAdmin(p: ToolAdminPowers): ToolAdmin {
  return {
    async tools(actor, name) {
      const server = await p.ownServer(actor, name);
      return toolViews(p.store, await p.store.serverTools.list(server.name));
    },
    tool: (actor, name, tool) => toolDetails(actor, name, tool, p),
    approve: (actor, name, approval) => approveTools(actor, name, approval, p),
    reject: (actor, name, tools, reason) => rejectTools(actor, name, tools, reason, p),
    rollback: (actor, name, tool, pin) => rollBackTool(actor, name, tool, pin, p),
  };
}

async function rejectTools(
  actor: Caller,
  name: string,
  tools: readonly string[],
  reason: string | null,
  p: ToolAdminPowers,
): Promise<ServerToolView[]> {
  const server = await p.ownServer(actor, name);
  const rows = await p.review.decide(server, (known) => {
    const now = selectTools(server, known, tools);
    const decided = now.map((row): ServerToolRow => {
      if (row.state === "refused")
        throw new AppError(
          "CONFLICT",
          "stale",
          `${row.name} is refused already: ${row.reason ?? ""}`,
          { remedy: "nobody can call it" },
        );
      // Of a changed tool only the new definition is rejected: the approval of the old one still holds.
      const approvedPin = row.state === "changed" ? row.approvedPin : null;
      return {
        ...row,
        state: row.state === "removed" ? "removed" : "rejected",
        reason,
        approvedPin,
        ...decidedBy(actor, row, p.now()),
      };
    });
    return Promise.resolve({ rows: decided, versions: [] });
  });
  await p.note("upstream.tool_decided", actor, {
    server: name,
    decision: "rejected",
    tools: rows.map(({ name: tool, seenPin }) => ({ name: tool, pin: seenPin })),
    reason,
  });
  return toolViews(p.store, rows);
}

async function rollBackTool(
  actor: Caller,
  name: string,
  tool: string,
  pin: string,
  p: ToolAdminPowers,
): Promise<ServerToolView> {
  const { serverTools } = p.store;
  const server = await p.ownServer(actor, name);
  const [row] = await p.review.decide(server, async (known) => {
    const [now] = selectTools(server, known, [tool]);
    if (!now) throw unknownTool(server, tool, []);
    const target = approvedVersion(now, await serverTools.versions(server.name, now.name), pin);
    const state =
      now.state === "removed" ? "removed" : now.seenPin === target.pin ? "approved" : "changed";
    const decided: ServerToolRow = {
      ...now,
      state,
      reason: null,
      approvedPin: target.pin,
      ...decidedBy(actor, now, p.now()),
    };
    return {
      rows: [decided],
      versions: [{ ...target, approvedAt: decided.decidedAt, approvedBy: actor.userId }],
    };
  });
  if (!row) throw unknownTool(server, tool, []);
  await p.note("upstream.tool_decided", actor, {
    server: name,
    decision: "rolled_back",
    tools: [{ name: row.name, pin: row.approvedPin, offered: row.seenPin }],
  });
  const [view] = await toolViews(p.store, [row]);
  return view ?? toolView(row, null);
}
