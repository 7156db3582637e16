// One tool of a server with all that an administrator needs to decide about it.
import type { Caller } from "../../../contract/call.ts";
import { definitionText, diffDefinitions } from "../definitions/diff.ts";
import { proposeTerms } from "../definitions/propose-terms.ts";
import type { ServerToolDetails } from "./server-admin.ts";
import type { ToolAdminPowers } from "./tool-admin.ts";
import { selectTools, storedVersion, unknownTool } from "./tool-selection.ts";
import { toolView } from "./views.ts";

const MAX_CAPSULES = 1_000;

export async function toolDetails(
  actor: Caller,
  name: string,
  tool: string,
  p: ToolAdminPowers,
): Promise<ServerToolDetails> {
  const { serverTools } = p.store;
  const server = await p.ownServer(actor, name);
  const [row] = selectTools(server, await serverTools.list(server.name), [tool]);
  if (!row) throw unknownTool(server, tool, []);
  const { definition } = await storedVersion(serverTools, row, row.seenPin);
  const approved =
    row.approvedPin === null || row.approvedPin === row.seenPin
      ? null
      : await storedVersion(serverTools, row, row.approvedPin);
  const versions = await serverTools.versions(server.name, row.name);
  const capsules = await p.store.capsules.list(actor.tenantId, { limit: MAX_CAPSULES });
  return {
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
}
