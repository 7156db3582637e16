// A change of a capsule: a new version that acts at once, or a draft.
import { api, type Inputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { notify } from "../../../ui/toast.tsx";

export type CapsuleChange = Omit<Inputs["capsules"]["updateCapsule"], "id">;

export const useSaveCapsule = (id: string) =>
  useChange((change: CapsuleChange) => api.capsules.updateCapsule.mutate({ id, ...change }), {
    quiet: true,
    refreshes: ["capsules", "tools"],
    onDone: ({ name, version, drafted }) =>
      notify(
        drafted === undefined
          ? `${name} is at version ${version} now`
          : `Version ${drafted} of ${name} is written down. It acts once you activate it.`,
      ),
  });
