// Where a path leads, decided component by component and without touching anything outside the allowed folders.
import type { PathRules } from "./governance.ts";
import type { PathRuleLists } from "./files/tools.ts";
import type { Ruled } from "./files/yaml.ts";
import { exists, foldsCase, namesOf } from "./paths/links.ts";
import { CONTROL } from "./paths/refusals.ts";
import { regionsOf, rootsOf, type PathVariables } from "./paths/regions.ts";
import { pathRulesOf } from "./paths/session-rules.ts";
import { foldBy, parsePattern, type Fold } from "./patterns.ts";

const MAX_KNOWN = 1_000;

/** The path rules of one workspace, the same for all of its sessions. */
export interface WorkspacePathRules {
  /** False when the workspace does not exist yet: it may become a link, so look again next time. */
  readonly lasting: boolean;
  /** For one session; null when it has no scratch folder. */
  within(scratch: string | null): Promise<PathRules>;
}

export async function resolvePathRules(
  rules: PathRuleLists,
  places: PathVariables,
): Promise<WorkspacePathRules> {
  const detected = places.caseInsensitive ?? (await foldsCase(places.workspace));
  const fold = foldBy(detected);
  // Forbidding folds wherever the system commonly does, whatever the workspace's own volume is like.
  const foldForbidden = foldBy(
    places.caseInsensitive ?? (detected || process.platform !== "linux"),
  );
  const compile = (lists: readonly Ruled<string>[], by: Fold) =>
    Promise.all(lists.map((one) => regionsOf(one, places, by))).then((found) => found.flat());
  const perSession = ({ value }: Ruled<string>): boolean =>
    parsePattern(value)?.start === "$SCRATCH";
  const general = rules.allowed.filter((one) => !perSession(one));
  const [forbidden, unwritable, unattended, roots, workspace, data] = await Promise.all([
    compile(rules.forbidden, foldForbidden),
    compile(rules.forbiddenForWriting, foldForbidden),
    compile(
      rules.unattended.filter((one) => !perSession(one)),
      fold,
    ),
    Promise.all(general.map((one) => rootsOf(one, places, null, fold))).then((found) =>
      found.flat(),
    ),
    namesOf(places.workspace),
    namesOf(places.dataDir),
  ]);
  const fixed = {
    forbidden,
    unwritable,
    roots,
    unattended,
    workspace,
    data,
    fold,
    places,
    allowedRule: rules.allowed[0]?.rule ?? CONTROL,
  };
  const plain = pathRulesOf({ ...fixed, scratch: null });
  const known = new Map<string, Promise<PathRules>>();
  const withScratch = async (scratch: string): Promise<PathRules> => {
    const all = { ...places, scratch };
    const own = await Promise.all(
      rules.allowed.filter(perSession).map((one) => rootsOf(one, all, scratch, fold)),
    );
    const free = await Promise.all(
      rules.unattended.filter(perSession).map((one) => regionsOf(one, all, fold)),
    );
    return pathRulesOf({
      ...fixed,
      scratch: await namesOf(scratch),
      roots: [...roots, ...own.flat()],
      unattended: [...unattended, ...free.flat()],
    });
  };
  return {
    lasting: await exists(places.workspace),
    async within(scratch) {
      if (scratch === null) return plain;
      let found = known.get(scratch);
      if (!found) {
        if (known.size >= MAX_KNOWN) known.clear();
        known.set(scratch, (found = withScratch(scratch)));
      }
      return found;
    },
  };
}
