// Drafted tools: what administrators do with them, and the runner of those that are linked.
import { createDraftAdmin, type DraftAdmin } from "../agents/drafts/draft-admin.ts";
import { registerLinked } from "../agents/drafts/register-linked.ts";
import { createLinking } from "../core/identity/link-tools.ts";
import { draftedRunner } from "../core/run/drafted.ts";
import type { Runner } from "../core/run/index.ts";
import { idsOf } from "../telemetry/call-log.ts";
import type { Base } from "./base.ts";
import type { OpenedPowers } from "./powers.ts";
import type { ReachParts } from "./reach.ts";

export interface OpenedToolDrafts {
  readonly admin: DraftAdmin;
  readonly runner: Runner;
}

export async function openToolDrafts(
  { store, registry, validators, now }: Base,
  { record, governance, identity }: ReachParts,
  powers: OpenedPowers,
): Promise<OpenedToolDrafts> {
  const { toolDrafts } = store;
  const { relations, follower } = governance;
  await registerLinked({ toolDrafts, registry });
  return {
    admin: createDraftAdmin({
      toolDrafts,
      drafts: powers.drafts,
      box: powers.box,
      registry,
      links: createLinking({ directory: identity.directory, relations }),
      toolsChanged: () => follower.changed("tools"),
      note: record.note,
      now,
    }),
    runner: draftedRunner({
      toolDrafts,
      process: powers.process,
      checkOutput: (schema, output) => validators.checkForeign(schema, output),
      masker: record.masker,
      report: (call, cause) =>
        record.log.error(
          { err: cause, ...idsOf(call), tool: call.tool?.name },
          "a drafted tool failed unexpectedly",
        ),
    }),
  };
}
