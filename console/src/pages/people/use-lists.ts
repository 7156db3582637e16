// Lists that several forms choose from.
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";

export const useCapsuleChoices = () =>
  useData(["capsules", "choices"], (signal) =>
    api.capsules.listCapsules.query({ limit: 100 }, { signal }),
  );

export const useUserChoices = () =>
  useData(["users", "choices"], (signal) => api.users.listUsers.query({ limit: 100 }, { signal }));
