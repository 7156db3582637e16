// Which folder is whose: workspaces of tenants and sessions, scratch folders. Names only; the files power makes them.
import { join } from "node:path";
import type { Caller } from "../../contract/call.ts";
import { safeName } from "../../util/text/safe-name.ts";
import type { GovernanceOptions } from "./create.ts";

export interface WorkspaceSettings {
  /** Of the local tenant. */
  readonly workspace: string;
  readonly workspacePerSession: boolean;
  readonly dataDir: string;
  readonly localTenant: string;
}

export const SCRATCH_FOLDER = "scratch";

export function workspacesOf({
  workspace,
  workspacePerSession,
  dataDir,
  localTenant,
}: WorkspaceSettings): Required<Pick<GovernanceOptions, "workspaceOf" | "scratchOf">> {
  const ofTenant = ({ tenantId }: Caller): string =>
    tenantId === localTenant ? workspace : join(dataDir, "workspaces", safeName(tenantId));
  return {
    workspaceOf: (caller, sessionId) =>
      workspacePerSession
        ? join(ofTenant(caller), sessionId === null ? userName(caller) : safeName(sessionId))
        : ofTenant(caller),
    scratchOf: (caller, sessionId) =>
      join(
        dataDir,
        SCRATCH_FOLDER,
        safeName(caller.tenantId),
        safeName(caller.userId),
        sessionId === null ? "_none" : safeName(sessionId),
      ),
  };
}

/** No session is called like this. */
const userName = ({ userId }: Caller): string => `_user-${safeName(userId)}`;
