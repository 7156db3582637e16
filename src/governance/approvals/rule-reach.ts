// Which recorded calls a standing rule would have covered, shown before it is created.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { taintIn } from "../../contract/taint.ts";
import type { ApprovalRow, AuditedRecord } from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { ApprovalPreviews, RuleMatch, RuleReach } from "./approval.ts";
import type { Deciders } from "./deciders.ts";
import { KEPT_BYTES } from "./listed.ts";
import { compileMatches, hasMask, valueAt } from "./matches.ts";
import type { ApprovalPowers } from "./powers.ts";
import type { Readable } from "./readable.ts";
import { assertOnePerson, coverFaults, exactly, invalidRule } from "./rule-draft.ts";

interface ReachParts {
  readonly deciders: Pick<Deciders, "refusalForOthers">;
  readonly readable: Readable;
  readonly requireRoom: (caller: Caller) => Promise<void>;
}

const PAGE = 50;
const SHOWN = 20;

export const createRuleReach =
  (p: ApprovalPowers, parts: ReachParts): ApprovalPreviews["previewRule"] =>
  async (caller, id, { matches, last, from }) => {
    const { row } = await parts.readable(caller, id);
    const refusal = await parts.deciders.refusalForOthers(caller, row);
    if (refusal) throw refusal;
    assertOnePerson(row);
    const shown = row.editedArguments ?? row.arguments;
    const faults = coverFaults(matches, shown, p.registry.get(row.toolName));
    if (faults.length > 0) throw invalidRule(faults);
    await parts.requireRoom(caller);
    const rule = matches ?? exactly(shown);
    const found = await lookBack(row, rule, { last, from }, p);
    const broader = !rule.some((match) => isWhole(match, shown));
    return {
      userId: row.requester,
      toolName: row.toolName,
      matches: rule,
      ...found,
      broader,
      summary: summaryOf(row, rule, found, broader, shown),
    };
  };

type Found = Omit<RuleReach, "userId" | "toolName" | "matches" | "broader" | "summary">;

async function lookBack(
  row: ApprovalRow,
  matches: readonly RuleMatch[],
  { last, from }: { last: number; from: number | undefined },
  p: ApprovalPowers,
): Promise<Found> {
  const fits = compileMatches(matches);
  const newest: RuleReach["newest"][number][] = [];
  const counts = { tried: 0, covered: 0, unknown: 0 };
  let oldest: AuditedRecord | undefined;
  const filter = {
    tenantId: row.tenantId,
    userId: row.requester,
    toolName: row.toolName,
    ...(from === undefined ? {} : { from }),
  };
  while (counts.tried < last) {
    const limit = Math.min(PAGE, last - counts.tried);
    const page = await p.store.executions.list(filter, {
      limit,
      ...(oldest ? { after: oldest } : {}),
    });
    for (const record of page) {
      counts.tried++;
      if (!isCoverable(record, row)) continue;
      if (isUnknown(record, matches)) counts.unknown++;
      else if (fits(record.arguments)) {
        counts.covered++;
        if (newest.length < SHOWN) newest.push(cutRecord(record, p));
      }
    }
    oldest = page.at(-1) ?? oldest;
    if (page.length < limit) break;
  }
  return { ...counts, oldest: oldest?.startTime ?? null, newest };
}

/** A rule is for one definition of the tool, and never for those who have read content from outside. */
const isCoverable = ({ toolPin, metadata }: AuditedRecord, row: ApprovalRow): boolean =>
  toolPin === row.toolPin && taintIn(metadata).length === 0;

/** The record does not say what the rule would have seen. */
const isUnknown = (
  { arguments: args, argumentsCut }: AuditedRecord,
  matches: readonly RuleMatch[],
): boolean =>
  argumentsCut !== null ||
  matches.some(({ pointer }) => {
    const value = valueAt(args, pointer);
    return value !== undefined && hasMask(value);
  });

function cutRecord(
  { id, startTime, status, arguments: args }: AuditedRecord,
  { cutToSize }: Pick<ApprovalPowers, "cutToSize">,
): RuleReach["newest"][number] {
  const { value, cut } = cutToSize(args, KEPT_BYTES / SHOWN);
  return { id, startTime, status, arguments: value, argumentsCut: cut };
}

const isWhole = ({ pointer, equals }: RuleMatch, shown: JsonObject): boolean =>
  pointer === "" && equals !== undefined && canonicalJson(equals) === canonicalJson(shown);

function summaryOf(
  { requester, toolName }: ApprovalRow,
  matches: readonly RuleMatch[],
  { tried, covered, unknown }: Found,
  broader: boolean,
  shown: JsonObject,
): string {
  const counted = `Of the last ${tried} calls of ${requester} to ${toolName} it would have covered ${covered}`;
  const unclear = unknown > 0 ? `; unknown for ${unknown}` : "";
  return `${broader ? breadthOf(matches, shown) : "It covers exactly these arguments."} ${counted}${unclear}.`;
}

/** A match of all the arguments is no broader, so each pointer here names some. */
function breadthOf(matches: readonly RuleMatch[], shown: JsonObject): string {
  if (matches.length === 0) return "It is broader than this call: the arguments may be anything.";
  const named = matches.map(({ pointer, glob }) =>
    glob === undefined ? `${pointer} as it is` : `${pointer} like ${glob}`,
  );
  const isNamed = (name: string): boolean => {
    const top = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return matches.some(({ pointer }) => pointer === top || pointer.startsWith(`${top}/`));
  };
  const open = Object.keys(shown).filter((name) => !isNamed(name));
  const rest = open.length > 0 ? `; ${open.join(", ")} and any others` : "; any others";
  return `It is broader than this call: it needs ${named.join(", ")}${rest} may be anything.`;
}
