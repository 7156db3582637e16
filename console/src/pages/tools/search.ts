// What the address of the catalogue holds: filters, and through whose eyes it is seen.
import type { Outputs } from "../../api/client.ts";

export type CatalogueTool = Outputs["tools"]["viewCatalogue"]["tools"][number];

export const STATES = [
  "runs",
  "asks",
  "barred",
  "hidden",
] as const satisfies readonly CatalogueTool["state"][];
export const MODES = ["NORMAL", "ALERT", "DEGRADED", "LOCKDOWN", "RECOVERY"] as const;

export interface CatalogueSearch {
  readonly q?: string | undefined;
  readonly category?: string | undefined;
  readonly source?: string | undefined;
  readonly risk?: string | undefined;
  readonly state?: (typeof STATES)[number] | undefined;
  readonly as?: string | undefined;
  readonly capsule?: string | undefined;
  readonly session?: string | undefined;
  readonly mode?: (typeof MODES)[number] | undefined;
  readonly at?: string | undefined;
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? String(value)
      : undefined;

export const catalogueSearch = (search: Record<string, unknown>): CatalogueSearch => ({
  q: text(search["q"]),
  category: text(search["category"]),
  source: text(search["source"]),
  risk: text(search["risk"]),
  state: STATES.find((state) => state === search["state"]),
  as: text(search["as"]),
  capsule: text(search["capsule"]),
  session: text(search["session"]),
  mode: MODES.find((mode) => mode === search["mode"]),
  at: text(search["at"]),
});

/** Whose catalogue it is; without any of these, one's own. */
export const isSupposed = ({ as, capsule, session, mode, at }: CatalogueSearch): boolean =>
  [as, capsule, session, mode, at].some((part) => part !== undefined);

export function viewOf({ as, capsule, session, mode, at }: CatalogueSearch) {
  return {
    ...(as === undefined ? {} : { as }),
    // A session has its capsule.
    ...(capsule === undefined || session !== undefined ? {} : { capsuleId: capsule }),
    ...(session === undefined ? {} : { sessionId: session }),
    ...(mode === undefined ? {} : { mode }),
    ...(at === undefined ? {} : { at }),
  };
}

/** Where a tool comes from, as it is filtered by and shown. */
export const sourceOf = ({ server }: Pick<CatalogueTool, "server">): string => server ?? "built in";

export function filtered(
  tools: readonly CatalogueTool[],
  { q, category, source, risk, state }: CatalogueSearch,
): readonly CatalogueTool[] {
  const words = (q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return tools.filter(
    (tool) =>
      (category === undefined || tool.category === category) &&
      (source === undefined || sourceOf(tool) === source) &&
      (risk === undefined || tool.risk === risk) &&
      (state === undefined || tool.state === state) &&
      words.every((word) =>
        `${tool.name} ${tool.displayName} ${tool.description} ${tool.tags.join(" ")}`
          .toLowerCase()
          .includes(word),
      ),
  );
}
