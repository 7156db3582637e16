// What the pages of drafted tools read.
import { api, type Inputs, type Outputs } from "../../../api/client.ts";
import { useData, usePages } from "../../../api/query.ts";

export type Draft = Outputs["toolDrafts"]["listToolDrafts"]["items"][number];
export type Review = Outputs["toolDrafts"]["getToolDraft"];
export type Link = Inputs["toolDrafts"]["linkToolDraft"];
export type DraftState = Draft["state"];

/** What a decision makes stale. */
export const DECIDED = ["drafts", "draft", "tools", "capsules"] as const;

const AT_ONCE = 50;
/** More are told as so many and more. */
export const MOST_COUNTED = 100;

export const useDrafts = (state: DraftState | undefined) =>
  usePages(["drafts", "list", state], ({ after }, signal) =>
    api.toolDrafts.listToolDrafts.query(
      {
        ...(state === undefined ? {} : { state }),
        ...(after === undefined ? {} : { before: after }),
        limit: AT_ONCE,
      },
      { signal },
    ),
  );

/** Those that nobody decided about yet; administrators only. */
export const useWaitingDrafts = (enabled: boolean) =>
  useData(
    ["drafts", "waiting"],
    (signal) =>
      api.toolDrafts.listToolDrafts.query(
        { state: "pending_link", limit: MOST_COUNTED },
        { signal },
      ),
    { enabled },
  );

export const useReview = (id: string) =>
  useData(["draft", id], (signal) => api.toolDrafts.getToolDraft.query({ id }, { signal }));

/** Tests that did not pass, for whatever reason. */
export const notPassed = ({ tests }: Pick<Draft, "tests">): number => tests.failed + tests.notRun;
