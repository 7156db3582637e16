// Approving the tools of a server: what is offered now becomes callable, on the terms that were proposed or given.
import type { Caller } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import { RISKS } from "../../../contract/tool.ts";
import type {
  ServerRow,
  ServerToolRow,
  ServerToolVersion,
  ToolTerms,
} from "../../../storage/store/store.ts";
import { proposeTerms } from "../definitions/propose-terms.ts";
import type { Approval, Approved } from "./server-admin.ts";
import type { ToolAdminPowers } from "./tool-admin.ts";
import { decidedBy, MIN_PIN, selectTools, storedVersion } from "./tool-selection.ts";
import { toolViews } from "./views.ts";

export async function approveTools(
  actor: Caller,
  name: string,
  approval: Approval,
  p: ToolAdminPowers,
): Promise<Approved> {
  const { serverTools } = p.store;
  const server = await p.ownServer(actor, name);
  const { grant = "members" } = approval;
  const wanted = wantedOf(server, await serverTools.list(server.name), approval);
  for (const row of wanted) assertApprovable(row, approval);
  if (wanted.length === 0) return { tools: [], capsules: [], grant };
  // Capsules and rights first: before the approval they open nothing.
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
    const versions = await Promise.all(
      now.map((row) => storedVersion(serverTools, row, row.seenPin)),
    );
    const terms = await Promise.all(
      now.map((row, at) => termsOf(row, versions[at] as ServerToolVersion, approval, p)),
    );
    const decided = now.map((row, at) => ({
      ...row,
      state: "approved" as const,
      reason: null,
      approvedPin: row.seenPin,
      terms: terms[at] ?? row.terms,
      ...decidedBy(actor, row, p.now()),
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
}

/** Earlier terms stay, unless the new definition asks for more caution; terms that are given now go before both. */
async function termsOf(
  row: ServerToolRow,
  version: ServerToolVersion,
  { terms }: Approval,
  { store }: ToolAdminPowers,
): Promise<ToolTerms> {
  const given = Object.fromEntries(
    Object.entries(terms ?? {}).filter(([, value]) => value !== undefined),
  ) as Partial<ToolTerms>;
  if (row.approvedPin === null || row.approvedPin === row.seenPin)
    return { ...row.terms, ...given };
  const former = await store.serverTools.version(row.server, row.name, row.approvedPin);
  const now = proposeTerms(version.definition);
  const graver =
    former !== null &&
    rank(now) > rank(proposeTerms(former.definition)) &&
    rank(now) > rank(row.terms);
  return {
    ...row.terms,
    ...(graver ? { risk: now.risk, effects: now.effects, idempotent: false } : {}),
    ...given,
  };
}

const rank = ({ risk }: ToolTerms): number => RISKS.indexOf(risk);

function wantedOf(
  server: ServerRow,
  rows: readonly ServerToolRow[],
  { tools }: Approval,
): ServerToolRow[] {
  return tools === undefined
    ? rows.filter(({ state }) => state === "pending")
    : selectTools(server, rows, tools);
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
      `review it again: ostiary servers diff ${row.server} ${row.name}`,
    );
  const danger = row.findings.find(({ severity }) => severity === "danger");
  if (danger && !evenWithFindings)
    throw new AppError("CONFLICT", "stale", `${row.name}: ${danger.message} (${danger.path})`, {
      remedy: `read it: ostiary servers show ${row.server} ${row.name}; to approve it all the same add --even-with-findings`,
    });
}
