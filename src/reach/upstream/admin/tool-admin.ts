// What people decide about the tools of a server: approve, reject, go back to an earlier definition.
import type { Caller, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type {
  Action,
  ServerRow,
  ServerToolRow,
  ServerToolVersion,
  Store,
  ToolTerms,
} from "../../../storage/store/store.ts";
import { RISKS } from "../../../contract/tool.ts";
import { nearest } from "../../../util/nearest.ts";
import { toolView, toolViews } from "./views.ts";
import { diffDefinitions, definitionText } from "../definitions/diff.ts";
import { proposeTerms } from "../definitions/propose-terms.ts";
import type { ToolLinks } from "./tool-links.ts";
import type { Review } from "../definitions/review.ts";
import type { Approval, ServerAdmin, ServerToolDetails } from "./server-admin.ts";

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

const MIN_PIN = 8;
const MAX_CAPSULES = 1_000;

export function createToolAdmin(p: ToolAdminPowers): ToolAdmin {
  const { serverTools } = p.store;
  const versionOf = async (row: ServerToolRow, pin: string): Promise<ServerToolVersion> => {
    const version = await serverTools.version(row.server, row.name, pin);
    if (version) return version;
    throw new AppError(
      "CONFLICT",
      "stale",
      `the definition ${pin.slice(0, 12)} of ${row.name} is not kept`,
      { remedy: `look again: ostiary servers tools ${row.server} --look` },
    );
  };

  return {
    async tools(actor, name) {
      const server = await p.ownServer(actor, name);
      return toolViews(p.store, await serverTools.list(server.name));
    },

    async tool(actor, name, tool) {
      const server = await p.ownServer(actor, name);
      const [row] = chosen(server, await serverTools.list(server.name), [tool]);
      if (!row) throw unknownTool(server, tool, []);
      const { definition } = await versionOf(row, row.seenPin);
      const approved =
        row.approvedPin === null || row.approvedPin === row.seenPin
          ? null
          : await versionOf(row, row.approvedPin);
      const versions = await serverTools.versions(server.name, row.name);
      const capsules = await p.store.capsules.list(actor.tenantId, { limit: MAX_CAPSULES });
      const details: ServerToolDetails = {
        ...toolView(row, definition),
        text: definitionText(definition),
        definition,
        diff: approved === null ? [] : diffDefinitions(approved.definition, definition),
        proposed: proposeTerms(definition),
        versions: versions.map(({ pin, firstSeenAt, approvedAt, approvedBy }) => ({
          pin,
          firstSeenAt,
          approvedAt,
          approvedBy,
          isApproved: pin === row.approvedPin,
          isOffered: pin === row.seenPin && row.state !== "removed",
        })),
        capsules: capsules
          .filter(({ capabilities }) =>
            capabilities.some((held) => held === row.name || held.startsWith(`${row.name}@`)),
          )
          .map(({ id }) => id),
      };
      return details;
    },

    async approve(actor, name, approval) {
      const server = await p.ownServer(actor, name);
      const { grant = "members" } = approval;
      const wanted = wantedOf(server, await serverTools.list(server.name), approval);
      for (const row of wanted) assertApprovable(row, approval);
      if (wanted.length === 0) return { tools: [], capsules: [], grant };
      // Rights and places first: while nobody has said yes they open nothing.
      const capsules = await p.links.link(
        actor,
        wanted.map((row) => row.name),
        { capsules: approval.capsules, grant },
      );
      const rows = await p.review.decide(server, async (known) => {
        const now = wanted.map((row) => known.find((one) => one.name === row.name) ?? row);
        now.forEach((row, at) =>
          assertApprovable(row, {
            ...approval,
            expectedPins: { ...approval.expectedPins, [row.name]: wanted[at]?.seenPin ?? "" },
          }),
        );
        const versions = await Promise.all(now.map((row) => versionOf(row, row.seenPin)));
        const terms = await Promise.all(
          now.map((row, at) => termsOf(row, versions[at] as ServerToolVersion, approval)),
        );
        const decided = now.map((row, at) => ({
          ...row,
          state: "approved" as const,
          reason: null,
          approvedPin: row.seenPin,
          terms: terms[at] ?? row.terms,
          ...by(actor, row),
        }));
        return {
          rows: decided,
          versions: versions.map((version, at) => ({
            ...version,
            approvedAt: decided[at]?.decidedAt ?? p.now(),
            approvedBy: actor.userId,
          })),
        };
      });
      await p.note("upstream.tool_decided", actor, {
        server: name,
        decision: "approved",
        tools: rows.map(({ name: tool, approvedPin, terms, findings }) => ({
          name: tool,
          pin: approvedPin,
          terms: { ...terms },
          findings: findings.length,
        })),
        capsules,
        grant,
      });
      return { tools: await toolViews(p.store, rows), capsules, grant };
    },

    async reject(actor, name, tools, reason) {
      const server = await p.ownServer(actor, name);
      const rows = await p.review.decide(server, (known) => {
        const now = chosen(server, known, tools);
        const decided = now.map((row): ServerToolRow => {
          if (row.state === "refused")
            throw new AppError(
              "CONFLICT",
              "stale",
              `${row.name} is refused already: ${row.reason ?? ""}`,
              { remedy: "nobody can call it" },
            );
          // Of a changed one only what is new is turned down: should the server go back, the old yes holds.
          const kept = row.state === "changed" ? row.approvedPin : null;
          return {
            ...row,
            state: row.state === "removed" ? "removed" : "rejected",
            reason,
            approvedPin: kept,
            ...by(actor, row),
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
    },

    async rollback(actor, name, tool, pin) {
      const server = await p.ownServer(actor, name);
      const [row] = await p.review.decide(server, async (known) => {
        const [now] = chosen(server, known, [tool]);
        if (!now) throw unknownTool(server, tool, []);
        const target = earlier(now, await serverTools.versions(server.name, now.name), pin);
        const state =
          now.state === "removed" ? "removed" : now.seenPin === target.pin ? "approved" : "changed";
        const decided: ServerToolRow = {
          ...now,
          state,
          reason: null,
          approvedPin: target.pin,
          ...by(actor, now),
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
    },
  };

  /** Later than every decision before it, whatever the clocks of two instances say. */
  function by(actor: Caller, row: ServerToolRow): Pick<ServerToolRow, "decidedBy" | "decidedAt"> {
    return { decidedBy: actor.userId, decidedAt: Math.max(p.now(), (row.decidedAt ?? 0) + 1) };
  }

  /** What was decided once stays, unless the new words ask for more caution; what is said now comes last. */
  async function termsOf(
    row: ServerToolRow,
    version: ServerToolVersion,
    { terms }: Approval,
  ): Promise<ToolTerms> {
    const said = Object.fromEntries(
      Object.entries(terms ?? {}).filter(([, value]) => value !== undefined),
    ) as Partial<ToolTerms>;
    if (row.approvedPin === null || row.approvedPin === row.seenPin)
      return { ...row.terms, ...said };
    const former = await serverTools.version(row.server, row.name, row.approvedPin);
    const now = proposeTerms(version.definition);
    const graver =
      former !== null &&
      rank(now) > rank(proposeTerms(former.definition)) &&
      rank(now) > rank(row.terms);
    return {
      ...row.terms,
      ...(graver ? { risk: now.risk, effects: now.effects, idempotent: false } : {}),
      ...said,
    };
  }
}

const rank = ({ risk }: ToolTerms): number => RISKS.indexOf(risk);

/** By `server/tool` or the tool's own part alone; every name that is not there is told. */
function chosen(
  server: ServerRow,
  rows: readonly ServerToolRow[],
  names: readonly string[],
): ServerToolRow[] {
  return [...new Set(names)].map((name) => {
    const row = rows.find((one) => one.name === name || one.name === `${server.name}/${name}`);
    if (row) return row;
    throw unknownTool(server, name, rows);
  });
}

function wantedOf(
  server: ServerRow,
  rows: readonly ServerToolRow[],
  { tools }: Approval,
): ServerToolRow[] {
  return tools === undefined
    ? rows.filter(({ state }) => state === "pending")
    : chosen(server, rows, tools);
}

function assertApprovable(
  row: ServerToolRow,
  { expectedPins = {}, evenWithFindings = false }: Approval,
): void {
  const stale = (message: string, remedy: string): AppError =>
    new AppError("CONFLICT", "stale", message, { remedy });
  if (row.state === "refused")
    throw stale(
      `${row.name} cannot be taken: ${row.reason ?? "it was refused"}`,
      "the server has to change it",
    );
  if (row.state === "removed")
    throw stale(
      `${row.name} is not offered any more`,
      `look again: ostiary servers tools ${row.server} --look`,
    );
  const expected = expectedPins[row.name] ?? expectedPins[row.name.slice(row.server.length + 1)];
  if (expected !== undefined && (expected.length < MIN_PIN || !row.seenPin.startsWith(expected)))
    throw stale(
      `${row.name} is not what was looked at: expected ${expected.slice(0, 12)}, got ${row.seenPin.slice(0, 12)}`,
      `look at it again: ostiary servers diff ${row.server} ${row.name}`,
    );
  const danger = row.findings.find(({ severity }) => severity === "danger");
  if (danger && !evenWithFindings)
    throw new AppError("CONFLICT", "stale", `${row.name}: ${danger.message} (${danger.path})`, {
      remedy: `read it: ostiary servers show ${row.server} ${row.name}; to approve it all the same add --even-with-findings`,
    });
}

function earlier(
  row: ServerToolRow,
  versions: readonly ServerToolVersion[],
  pin: string,
): ServerToolVersion {
  const found =
    pin.length < MIN_PIN ? [] : versions.filter((version) => version.pin.startsWith(pin));
  const [only] = found;
  const listed = `list them: ostiary servers show ${row.server} ${row.name}`;
  if (found.length > 1)
    throw new AppError(
      "CONFLICT",
      "several_matches",
      `${found.length} versions of ${row.name} begin with ${pin}`,
      { remedy: "write more of the pin" },
    );
  if (!only)
    throw new AppError(
      "NOT_FOUND",
      "unknown",
      `${row.name} has no version ${JSON.stringify(pin)}`,
      { remedy: `write at least ${MIN_PIN} characters of a pin; ${listed}` },
    );
  if (only.approvedAt === null)
    throw new AppError(
      "CONFLICT",
      "stale",
      `the version ${only.pin.slice(0, 12)} of ${row.name} was never approved`,
      { remedy: `go back to one that was; ${listed}` },
    );
  return only;
}

function unknownTool(server: ServerRow, name: string, rows: readonly ServerToolRow[]): AppError {
  const guess = nearest(
    name.includes("/") ? name : `${server.name}/${name}`,
    rows.map((row) => row.name),
  );
  return new AppError("NOT_FOUND", "unknown", `server ${server.name} has no tool '${name}'`, {
    remedy: `${guess === null ? "" : `did you mean ${guess}? `}list them: ostiary servers tools ${server.name}`,
  });
}
