// What is chosen on this page stands in the address.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { PeopleTab } from "./routes.ts";

const route = getRouteApi("/people");

/** Where an id belongs when the address names no tab: ids that we make say it. */
const BY_PREFIX: readonly (readonly [RegExp, PeopleTab])[] = [
  [/^key_/, "keys"],
  [/^cap_/, "capsules"],
  [/^psn_/, "personas"],
];

export type CapsuleView = "tools" | "agent" | "versions";

export interface PeopleNavigation {
  readonly tab: PeopleTab;
  readonly id: string | undefined;
  readonly q: string;
  readonly view: CapsuleView;
  readonly isNew: boolean;
  readonly user: string | undefined;
  go(search: {
    tab?: PeopleTab;
    id?: string;
    q?: string;
    view?: CapsuleView;
    new?: true;
    user?: string;
  }): Promise<void>;
  /** Stays on the tab. */
  open(id: string | undefined): Promise<void>;
  filter(q: string): void;
  create(isOpen: boolean): void;
}

const tabOf = (id: string | undefined): PeopleTab =>
  BY_PREFIX.find(([known]) => id !== undefined && known.test(id))?.[1] ?? "users";

export function usePeople(): PeopleNavigation {
  const search = route.useSearch();
  const navigate = useNavigate();
  const { id, q = "", view = "tools", user } = search;
  const tab = search.tab ?? tabOf(id);
  const go: PeopleNavigation["go"] = (next) =>
    navigate({ to: "/people", search: next, replace: true });
  const kept = { tab, ...(q === "" ? {} : { q }) };
  return {
    tab,
    id,
    q,
    view,
    isNew: search.new ?? false,
    user,
    go,
    open: (next) => go({ ...kept, ...(next === undefined ? {} : { id: next }) }),
    filter: (text) => void go({ tab, ...(id ? { id } : {}), ...(text === "" ? {} : { q: text }) }),
    create: (isOpen) => void go({ ...kept, ...(isOpen ? { new: true } : {}) }),
  };
}
