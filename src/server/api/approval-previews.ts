// What helps an approver decide: the effect of the call, the last one like it, and what a rule would cover.
import type { z } from "zod";
import type { PreviewedApproval, RuleMatch } from "../../governance/approvals/approval.ts";
import type { Json, JsonObject } from "../../contract/call.ts";
import type { Effect, FilesEffect } from "../../contract/effect.ts";
import type { Fault } from "../../contract/errors.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import {
  previewInput,
  previewShape,
  rulePreviewInput,
  rulePreviewShape,
  type ruleMatch,
  similarInput,
  similarShape,
} from "./approval-shapes.ts";
import { endpoint } from "./endpoint.ts";
import { iso, toMs } from "./shapes.ts";

type View = z.input<typeof previewShape>;

export const previewApproval = endpoint({
  name: "approvals.previewApproval",
  method: "POST",
  path: "/approvals/{id}/preview",
  access: "caller",
  summary: "What the waiting call would do, perhaps with other arguments; nothing runs",
  input: previewInput,
  output: previewShape,
  async run({ id, arguments: args, version }, { caller, doors, signal }) {
    const previewed = await doors.approvals.preview(caller, id, {
      ...(args === undefined ? {} : { arguments: args as JsonObject }),
      ...(version === undefined ? {} : { version }),
      signal,
    });
    return previewView(previewed);
  },
});

function previewView({ at, denied, effect, ...head }: PreviewedApproval): View {
  return {
    ...head,
    at: iso(at),
    denied: denied && {
      stage: denied.stage,
      ...faultView(denied.fault),
      ...(denied.rule === undefined ? {} : { rule: denied.rule }),
    },
    effect: effectView(effect),
  };
}

function effectView(effect: Effect): View["effect"] {
  switch (effect.kind) {
    case "fails":
      return {
        kind: "fails",
        ...faultView(effect.fault),
        ...(effect.leaves ? { leaves: filesView(effect.leaves) } : {}),
      };
    case "files":
      return filesView(effect);
    case "database":
      return {
        ...effect,
        columns: [...effect.columns],
        before: effect.before.map((row) => [...row]),
        after: effect.after.map((row) => [...row]),
      };
    case "shell":
      return { ...effect, commands: effect.commands.map((one) => ({ ...one })) };
    case "http":
    case "none":
      return { ...effect };
  }
}

const filesView = (effect: FilesEffect) => ({
  ...effect,
  changes: effect.changes.map((change) => ({ ...change })),
  totals: { ...effect.totals },
});

const faultView = ({ code, reason, message, remedy }: Fault) => ({
  code,
  reason,
  message,
  ...(remedy === undefined ? {} : { remedy }),
});

export const getSimilarApproval = endpoint({
  name: "approvals.getSimilarApproval",
  method: "GET",
  path: "/approvals/{id}/similar",
  access: "caller",
  summary: "The last approved call of the same tool: of the same requester, else of any user",
  input: similarInput,
  output: similarShape,
  async run({ id }, { caller, doors }) {
    const { asked, similar } = await doors.approvals.similar(caller, id);
    return { similar: similar && similarView(similar, asked) };
  },
});

function similarView(
  similar: ApprovalRow,
  asked: Pick<ApprovalRow, "requester" | "toolPin">,
): NonNullable<z.input<typeof similarShape>["similar"]> {
  return {
    approvalId: similar.id,
    executionId: similar.executionId,
    requester: similar.requester,
    sameRequester: similar.requester === asked.requester,
    toolName: similar.toolName,
    sameTool: similar.toolPin === asked.toolPin,
    arguments: similar.editedArguments ?? similar.arguments,
    edited: similar.editedArguments !== null,
    votes: similar.votes
      .filter(({ decision }) => decision === "approve")
      .map(({ userId, comment, at }) => ({ userId, comment, at: iso(at) })),
    decidedAt: iso(similar.decidedAt ?? similar.createdAt),
  };
}

export const previewApprovalRule = endpoint({
  name: "approvals.previewApprovalRule",
  method: "POST",
  path: "/approvals/{id}/rule/preview",
  access: "caller",
  summary: "Which recorded calls a standing rule from this approval would have covered",
  input: rulePreviewInput,
  output: rulePreviewShape,
  async run({ id, matches, last, since }, { caller, doors }) {
    const reach = await doors.approvals.previewRule(caller, id, {
      ...matchesIn(matches),
      last,
      ...(since === undefined ? {} : { from: toMs(since) }),
    });
    return {
      ...reach,
      matches: reach.matches.map((one) => ({ ...one })),
      oldest: reach.oldest === null ? null : iso(reach.oldest),
      newest: reach.newest.map(({ id: executionId, startTime, argumentsCut, ...record }) => ({
        executionId,
        at: iso(startTime),
        ...record,
        ...(argumentsCut ? { argumentsCut: { ...argumentsCut } } : {}),
      })),
    };
  },
});

/** Without what is undefined. */
export function matchesIn(matches: readonly z.output<typeof ruleMatch>[] | undefined): {
  matches?: RuleMatch[];
} {
  if (matches === undefined) return {};
  return {
    matches: matches.map(({ pointer, equals, glob }) => ({
      pointer,
      ...(equals === undefined ? {} : { equals: equals as Json }),
      ...(glob === undefined ? {} : { glob }),
    })),
  };
}
