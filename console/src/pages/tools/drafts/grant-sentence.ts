// What a link grants, in words.
import type { Draft } from "./data.ts";

type Terms = NonNullable<Draft["terms"]>;
type Access = Pick<Terms, "workspace" | "hosts">;

const FILES: Record<Terms["workspace"], string> = {
  none: "sees no file of the workspace",
  ro: "reads the workspace",
  rw: "reads and writes the workspace",
};

const accessText = ({ workspace, hosts }: Access): string =>
  `${FILES[workspace]} and reaches ${hosts.length === 0 ? "no network" : `only ${hosts.join(", ")}`}`;

export const termsText = (terms: Terms): string =>
  `${terms.risk}; it ${accessText(terms)}${terms.requiresApproval ? "; a person is asked about every call" : ""}`;

interface Granted extends Access {
  readonly name: string;
  readonly version: string;
  /** Names of those that are chosen; none where those of the linked version keep it. */
  readonly capsules: readonly string[];
  /** The version that is linked now. */
  readonly instead: string | undefined;
  readonly grant: "members" | "none";
  readonly risk: Terms["risk"];
  readonly requiresApproval: boolean;
}

/** All of it in one sentence, read before somebody agrees. */
export function grantSentence(granted: Granted): string {
  const { name, version, risk, requiresApproval } = granted;
  const asks = requiresApproval
    ? "once a person agreed to that very call"
    : `and a person is asked only where the rules for ${risk} tools say so`;
  return `${whoOf(granted)} call ${name} ${version} as a ${risk} tool, ${asks}; it ${accessText(granted)}.`;
}

function whoOf({ capsules, instead, grant }: Granted): string {
  const list = capsules.join(", ");
  if (capsules.length === 0)
    return instead === undefined ? "Nobody may" : `Whoever may call ${instead} now may`;
  return grant === "members"
    ? `Everybody of the tenant who has the capsule ${list} may`
    : `Those of the capsule ${list} whom you give the right to it later may`;
}
