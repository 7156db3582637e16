// Finds the tools and versions that an administrator names, and stamps decisions about them.
import type { Caller } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type {
  ServerRow,
  ServerToolRow,
  ServerToolVersion,
  Store,
} from "../../../storage/store/store.ts";
import { nearest } from "../../../util/text/nearest.ts";

/** A prefix of a pin must be at least so long. */
export const MIN_PIN = 8;

/** By `server/tool`, or by the tool's own part alone. Throws for the first name that is unknown. */
export function selectTools(
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

export async function storedVersion(
  serverTools: Pick<Store["serverTools"], "version">,
  row: ServerToolRow,
  pin: string,
): Promise<ServerToolVersion> {
  const version = await serverTools.version(row.server, row.name, pin);
  if (version) return version;
  throw new AppError(
    "CONFLICT",
    "stale",
    `the definition ${pin.slice(0, 12)} of ${row.name} is not kept`,
    { remedy: `look again: ostiary servers tools ${row.server} --look` },
  );
}

/** A version that was approved once, by its pin or the beginning of it. */
export function approvedVersion(
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

export function unknownTool(
  server: ServerRow,
  name: string,
  rows: readonly ServerToolRow[],
): AppError {
  const guess = nearest(
    name.includes("/") ? name : `${server.name}/${name}`,
    rows.map((row) => row.name),
  );
  return new AppError("NOT_FOUND", "unknown", `server ${server.name} has no tool '${name}'`, {
    remedy: `${guess === null ? "" : `did you mean ${guess}? `}list them: ostiary servers tools ${server.name}`,
  });
}

/** Later than every decision before it, even if the clocks of two instances differ. */
export const decidedBy = (
  actor: Caller,
  row: ServerToolRow,
  now: number,
): Pick<ServerToolRow, "decidedBy" | "decidedAt"> => ({
  decidedBy: actor.userId,
  decidedAt: Math.max(now, (row.decidedAt ?? 0) + 1),
});
