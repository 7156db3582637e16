import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { notify } from "../../../ui/toast.tsx";
import { DECIDED, type Draft } from "./data.ts";
import { termsText } from "./grant-sentence.ts";

/** It was linked once, and another version of its name is linked now. */
export const mayRollBack = (
  { state, terms }: Pick<Draft, "state" | "terms">,
  versions: readonly Pick<Draft, "state">[],
): boolean =>
  state === "retired" && terms !== null && versions.some((other) => other.state === "linked");

export function RollBackButton({
  draft,
  small = false,
}: {
  readonly draft: Draft;
  readonly small?: boolean;
}) {
  const { id, name, version, terms } = draft;
  const back = useChange(() => api.toolDrafts.rollBackToolDraft.mutate({ id }), {
    refreshes: DECIDED,
    onDone: () => notify(`${name} is ${version} again`),
  });
  return (
    <ConfirmButton
      small={small}
      danger={false}
      label={`Roll back to ${version}`}
      question={`Roll ${name} back to ${version}?`}
      explain={`From the next call on it is what runs, in the capsules of the present version, on the terms it had: ${terms ? termsText(terms) : ""}.`}
      confirm="Roll back"
      busy={back.isPending}
      onConfirm={() => back.mutate(undefined)}
    />
  );
}
