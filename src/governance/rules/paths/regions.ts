// The path patterns of the governance files, compiled to what they stand for on this machine.
import { join, resolve } from "node:path";
import type { Ruled } from "../files/yaml.ts";
import { parsePattern, Region, type Fold, type Variable } from "../patterns.ts";
import { namesOf, type FolderNames } from "./links.ts";

/** What the variables of patterns stand for. */
export interface PathVariables {
  /** The folder that relative paths start from. */
  readonly workspace: string;
  readonly home: string;
  readonly dataDir: string;
  readonly configFiles?: readonly string[];
  /** The folder the governance files were read from. */
  readonly governanceDir?: string | null;
  /** Default: found out at the workspace. */
  readonly caseInsensitive?: boolean;
}

export interface RuledRegion extends Ruled<Region> {
  /** `$DATA_DIR` itself: workspace and scratch folders inside it are excepted. */
  readonly isData: boolean;
}

/** An allowed folder by both of its names, and what must fit below it. */
export interface Root extends FolderNames {
  readonly start: Variable | "/";
  readonly region: Region;
}

/** The folders a pattern starts from; none when its variable stands for nothing here. */
function startsOf(
  start: Variable | "/",
  places: PathVariables & { scratch?: string },
): readonly string[] {
  const of: Record<Variable | "/", readonly string[]> = {
    "/": ["/"],
    $HOME: [places.home],
    $WORKSPACE: [places.workspace],
    $DATA_DIR: [places.dataDir],
    $SCRATCH: places.scratch === undefined ? [] : [places.scratch],
    $CONFIG: places.configFiles ?? [],
    $GOVERNANCE: places.governanceDir ? [places.governanceDir] : [],
  };
  return of[start];
}

export async function regionsOf(
  { value, rule }: Ruled<string>,
  places: PathVariables & { scratch?: string },
  fold: Fold,
): Promise<RuledRegion[]> {
  const pattern = parsePattern(value);
  if (!pattern) return [];
  const bases = await Promise.all(
    startsOf(pattern.start, places).map(async (start) => {
      const { named, real } = await namesOf(join(resolve(start), ...pattern.names));
      // The start may be a link itself while what is below it does not exist yet.
      const realStart = await namesOf(start);
      return [named, real, join(realStart.real, ...pattern.names)];
    }),
  );
  if (bases.length === 0) return [];
  const isData = value.replace(/\/(\*\*)?$/, "") === "$DATA_DIR";
  return [{ value: new Region(value, bases.flat(), pattern.glob, fold), rule, isData }];
}

export async function rootsOf(
  one: Ruled<string>,
  places: PathVariables,
  scratch: string | null,
  fold: Fold,
): Promise<Root[]> {
  const pattern = parsePattern(one.value);
  if (!pattern) return [];
  const all = scratch === null ? places : { ...places, scratch };
  return Promise.all(
    startsOf(pattern.start, all).map(async (start) => {
      const { named, real } = await namesOf(join(resolve(start), ...pattern.names));
      const region = new Region(one.value, [named, real], pattern.glob, fold);
      return { named, real, start: pattern.start, region };
    }),
  );
}
