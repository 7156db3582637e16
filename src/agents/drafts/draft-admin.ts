// What administrators do with drafted tools: review, test again, link, reject, unlink, roll back to an earlier version.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { DraftedTool } from "../../contract/powers/agents.ts";
import type { Effects, Risk } from "../../contract/tool.ts";
import type { ToolGrant, ToolLinks } from "../../reach/upstream/admin/tool-links.ts";
import type {
  Action,
  DraftFilter,
  DraftState,
  DraftTerms,
  Store,
  ToolDraftRow,
} from "../../storage/store/store.ts";
import type { Registry } from "../../tools/registry.ts";
import { draftDiff, draftText } from "./draft-text.ts";
import { createDraftedTool } from "./drafted-tool.ts";
import { draftFacts, type Drafts } from "./drafts.ts";
import { checkLink, termsOf } from "./link-terms.ts";
import type { TestBox } from "./test-box.ts";

export interface DraftLink {
  /** Needed for a tool that is linked nowhere yet. */
  readonly capsules?: readonly string[] | undefined;
  readonly grant?: ToolGrant | undefined;
  readonly risk: Risk;
  /** Default: what follows from risk and grants. */
  readonly effects?: Effects | undefined;
  readonly workspace?: DraftTerms["workspace"] | undefined;
  readonly hosts?: readonly string[] | undefined;
  readonly requiresApproval?: boolean | undefined;
  /** The hash of the reviewed version: another program is not linked. */
  readonly expectedHash?: string | undefined;
  readonly evenWithFindings?: boolean | undefined;
}

export interface DraftReview {
  readonly row: ToolDraftRow;
  readonly text: string;
  /** The version that it is compared with: the one that is linked, else the one before. */
  readonly before: string | null;
  readonly diff: readonly string[];
  readonly versions: readonly ToolDraftRow[];
}

export interface DraftAdmin {
  create(actor: Caller, draft: DraftedTool, signal: AbortSignal): Promise<ToolDraftRow>;
  list(
    actor: Caller,
    filter: { readonly state?: DraftState | undefined; readonly name?: string | undefined },
    page: { readonly limit: number; readonly before?: string | undefined },
  ): Promise<readonly ToolDraftRow[]>;
  get(actor: Caller, id: string): Promise<DraftReview>;
  test(actor: Caller, id: string, signal: AbortSignal): Promise<DraftReview>;
  link(
    actor: Caller,
    id: string,
    how: DraftLink,
  ): Promise<{ readonly row: ToolDraftRow; readonly capsules: readonly string[] }>;
  reject(actor: Caller, id: string, reason: string | null): Promise<ToolDraftRow>;
  unlink(actor: Caller, id: string): Promise<ToolDraftRow>;
  rollback(actor: Caller, id: string): Promise<ToolDraftRow>;
}

export interface DraftAdminPowers {
  readonly toolDrafts: Store["toolDrafts"];
  readonly drafts: Drafts;
  readonly box: TestBox;
  readonly registry: Pick<Registry, "get" | "put" | "unregister">;
  readonly links: ToolLinks;
  /** Tells other instances that the registry changed. */
  readonly toolsChanged: () => Promise<void>;
  readonly note: (action: Action, who: Caller, body: JsonObject) => Promise<void>;
  readonly now: () => number;
}

export function createDraftAdmin(p: DraftAdminPowers): DraftAdmin {
  const { toolDrafts, note, now } = p;

  const own = async (actor: Caller, id: string): Promise<ToolDraftRow> => {
    assertAdmin(actor);
    const row = await toolDrafts.get(actor.tenantId, id);
    if (row) return row;
    throw new AppError("NOT_FOUND", "unknown", `Drafted tool '${id}' not found`, {
      remedy: "list those of your tenant: ostiary tools drafts",
    });
  };
  const review = async (row: ToolDraftRow): Promise<DraftReview> => {
    const versions = await toolDrafts.versions(row.name);
    const before =
      versions.find(({ state, id }) => state === "linked" && id !== row.id) ??
      versions.find(({ number }) => number < row.number) ??
      null;
    return {
      row,
      text: draftText(row),
      before: before?.version ?? null,
      diff: draftDiff(before, row),
      versions,
    };
  };
  /** Registers the linked version, else that a draft of this name waits, else nothing. */
  const show = async (name: string): Promise<void> => {
    const versions = await toolDrafts.versions(name);
    const shown =
      versions.find(({ state }) => state === "linked") ??
      versions.find(({ state }) => state === "pending_link" || state === "retired");
    if (shown) await p.registry.put([createDraftedTool(shown, p.registry.get(name)?.enabled)]);
    else await p.registry.unregister(name);
    await p.toolsChanged();
  };
  const become = async (
    { id, name, version, state }: ToolDraftRow,
    actor: Caller,
    terms: DraftTerms,
  ): Promise<ToolDraftRow> => {
    const how = { from: [state], terms, at: now(), by: actor.userId };
    const row = await toolDrafts.link({ id, name }, how);
    if (row === null) throw changed(name, version);
    await show(name);
    return row;
  };

  return {
    async create(actor, draft, signal) {
      assertAdmin(actor);
      return (await p.drafts.create(actor, draft, signal)).row;
    },
    list(actor, { state, name }, { limit, before }) {
      assertAdmin(actor);
      const filter: DraftFilter = {
        tenantId: actor.tenantId,
        ...(state === undefined ? {} : { state }),
        ...(name === undefined ? {} : { name }),
      };
      return toolDrafts.list(filter, { limit, ...(before === undefined ? {} : { before }) });
    },
    get: async (actor, id) => review(await own(actor, id)),
    async test(actor, id, signal) {
      const row = await own(actor, id);
      const subject = { caller: actor, tool: createDraftedTool(row), signal };
      await p.box.checkSyntax(row, subject);
      const results = await p.box.run(row, subject);
      await toolDrafts.tested(id, results, now());
      const tested = await own(actor, id);
      await note("tool.tested", actor, draftFacts(tested));
      return review(tested);
    },
    async link(actor, id, how) {
      const row = await own(actor, id);
      const current = (await toolDrafts.versions(row.name)).find(({ state }) => state === "linked");
      checkLink(row, current ?? null, how);
      const terms = termsOf(how);
      const { grant = "members" } = how;
      // It may have been drafted at another instance: capsules only take names that are known here.
      if (!p.registry.get(row.name)) await show(row.name);
      // Capsules and rights first: a caller who sees the tool can call it.
      const capsules =
        how.capsules === undefined
          ? []
          : await p.links.link(actor, [row.name], { capsules: how.capsules, grant });
      const linked = await become(row, actor, terms).catch(async (cause: unknown) => {
        // Another administrator decided meanwhile: a tool that is not linked must not stay in capsules.
        const versions = await toolDrafts.versions(row.name);
        if (!versions.some(({ state }) => state === "linked"))
          await p.links.unlink(actor, [row.name]);
        throw cause;
      });
      await note("tool.linked", actor, {
        ...draftFacts(linked),
        instead: current?.version ?? null,
        terms: { ...terms },
        findings: row.findings.length,
        capsules,
        ...(how.capsules === undefined ? {} : { grant }),
      });
      return { row: linked, capsules };
    },
    async reject(actor, id, reason) {
      const row = await own(actor, id);
      const decision = { from: ["pending_link"], state: "rejected", reason } as const;
      const rejected = await toolDrafts.decide(id, { ...decision, at: now(), by: actor.userId });
      if (rejected === null) throw wrongState(row, "pending_link");
      await show(row.name);
      await note("tool.rejected", actor, { ...draftFacts(rejected), reason });
      return rejected;
    },
    async unlink(actor, id) {
      const row = await own(actor, id);
      const decision = { from: ["linked"], state: "retired", reason: null } as const;
      const unlinked = await toolDrafts.decide(id, { ...decision, at: now(), by: actor.userId });
      if (unlinked === null) throw wrongState(row, "linked");
      await show(row.name);
      await p.links.unlink(actor, [row.name]);
      await note("tool.unlinked", actor, draftFacts(unlinked));
      return unlinked;
    },
    async rollback(actor, id) {
      const row = await own(actor, id);
      const { state, terms, name } = row;
      const current = (await toolDrafts.versions(name)).find((one) => one.state === "linked");
      if (state !== "retired" || terms === null) throw wrongState(row, "retired");
      if (!current)
        throw new AppError("CONFLICT", "stale", `no version of ${name} is linked now`, {
          remedy: "link the version again, and say into which capsules",
        });
      const linked = await become(row, actor, terms);
      await note("tool.rolled_back", actor, {
        ...draftFacts(linked),
        instead: current.version,
        terms: { ...terms },
      });
      return linked;
    },
  };
}

function assertAdmin({ role, userId }: Caller): void {
  if (role !== "admin")
    throw new AppError(
      "FORBIDDEN",
      "admin_only",
      `only administrators review drafted tools, got ${userId}`,
      { remedy: "ask an administrator" },
    );
}

const changed = (name: string, version: string): AppError =>
  new AppError("CONFLICT", "stale", `${name} ${version} was decided about meanwhile`, {
    remedy: `look at it again: ostiary tools review ${name}`,
  });

const wrongState = ({ name, version, state }: ToolDraftRow, expected: DraftState): AppError =>
  new AppError("CONFLICT", "stale", `${name} ${version}: expected ${expected}, it is ${state}`, {
    remedy: `look at its versions: ostiary tools review ${name}`,
  });
