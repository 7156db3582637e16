// The terms of a link: what the administrator chose, and what follows from it; also when a version may not be linked.
import { AppError } from "../../contract/errors.ts";
import type { DraftedAccess, Effects } from "../../contract/tool.ts";
import { draftHash } from "../../reach/code/draft-hash.ts";
import { canonicalHost } from "../../reach/egress/hosts.ts";
import type { DraftTerms, ToolDraftRow } from "../../storage/store/store.ts";
import type { DraftLink } from "./draft-admin.ts";

export function termsOf(how: DraftLink): DraftTerms {
  const { risk } = how;
  const hosts = (how.hosts ?? []).map(hostOf);
  // A tool could send what it reads: it gets both accesses only where the administrator says so.
  const workspace = how.workspace ?? (hosts.length > 0 ? "none" : "ro");
  const least = leastEffects({ workspace, hosts });
  const effects = how.effects ?? (risk === "dangerous" ? "system_dangerous" : least);
  if (!COVERS[effects].includes(least))
    throw fault("/effects", `${effects} is less than it may do: expected at least ${least}`);
  const requiresApproval = how.requiresApproval ?? risk === "dangerous";
  return { risk, effects, requiresApproval, workspace, hosts };
}

/** What a call may do with these grants, at least. */
function leastEffects({ workspace, hosts }: DraftedAccess): Effects {
  if (hosts.length > 0) return workspace === "rw" ? "system_dangerous" : "network";
  return workspace === "rw" ? "system_write" : "read_only";
}

/** Classes that stand for all that a class allows. */
const COVERS: Readonly<Record<Effects, readonly Effects[]>> = {
  essential_health_check: [],
  read_only: ["read_only"],
  network: ["read_only", "network"],
  system_write: ["read_only", "system_write"],
  system_dangerous: ["read_only", "network", "system_write", "system_dangerous"],
};

const MIN_HASH = 12;

/** Exact hosts, or all subdomains: `*.example.org`. The guard blocks private addresses in every case. */
function hostOf(given: string, at: number): string {
  const below = given.startsWith("*.") ? "*." : "";
  const host = canonicalHost(given.slice(below.length));
  if (host !== null && host.includes(".") && !host.includes("*")) return `${below}${host}`;
  throw fault(
    `/hosts/${at}`,
    `expected a host such as api.example.org, got ${JSON.stringify(given)}`,
  );
}

export function checkLink(
  row: ToolDraftRow,
  current: ToolDraftRow | null,
  { expectedHash, evenWithFindings = false, capsules, workspace, hosts = [] }: DraftLink,
): void {
  const { name, version, state, hash, results, findings } = row;
  if (state !== "pending_link" && state !== "retired")
    throw conflict(
      `${name} ${version} is ${state}`,
      state === "linked"
        ? "unlink it first to link it on other terms"
        : "draft it again, and say that it replaces this version",
    );
  if (draftHash(row) !== hash)
    throw conflict(`${name} ${version} is not what was drafted`, "draft it again");
  if (
    expectedHash !== undefined &&
    (expectedHash.length < MIN_HASH || !hash.startsWith(expectedHash))
  )
    throw conflict(
      `${name} ${version} is not what was looked at: expected ${expectedHash.slice(0, MIN_HASH)}, got ${hash.slice(0, MIN_HASH)}`,
      `look at it again: ostiary tools review ${name}`,
    );
  if (current === null && (capsules ?? []).length === 0)
    throw fault("/capsules", `expected at least one capsule: ${name} is linked to none`);
  if (capsules?.length === 0)
    throw fault("/capsules", "expected at least one capsule, or none named");
  if (workspace === "rw" && hosts.length > 0 && !evenWithFindings)
    throw conflict(
      "it would read and write the workspace and reach the network",
      "grant one of the two; to grant both all the same add evenWithFindings",
    );
  if (evenWithFindings) return;
  const failed = results.filter(({ status }) => status !== "passed").length;
  const danger = findings.find(({ severity }) => severity === "danger");
  if (failed > 0)
    throw conflict(
      `${failed} of the ${results.length} tests of ${name} ${version} did not pass`,
      "have it drafted again; to link it all the same add evenWithFindings",
    );
  if (danger)
    throw conflict(
      `${name} ${version}: ${danger.path} ${danger.message}`,
      `read it: ostiary tools review ${name}; to link it all the same add evenWithFindings`,
    );
}

const conflict = (message: string, remedy: string): AppError =>
  new AppError("CONFLICT", "stale", message, { remedy });

const fault = (path: string, message: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", `Input validation failed: ${path}: ${message}`, {
    remedy: "correct the field and send the request again",
    errors: [{ path, message }],
  });
