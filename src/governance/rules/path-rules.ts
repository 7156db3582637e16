// Where a path leads, decided component by component and without touching anything outside the allowed folders.
import { lstat, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isGitName, isRepository } from "../../util/files/git-names.ts";
import { quote } from "../../util/text/quote.ts";
import type { Access, Located, Refused, RuleSource, PathRules } from "./governance.ts";
import {
  componentsBelow,
  componentsOf,
  foldBy,
  parsePattern,
  Region,
  type Fold,
  type Variable,
} from "./patterns.ts";
import type { PathRuleLists } from "./files/tools.ts";
import type { Ruled } from "./files/yaml.ts";

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

const MAX_LINKS = 40;
const MAX_KNOWN = 1_000;
const CONTROL: RuleSource = { at: "built in", text: "a path holds no NUL or control characters" };
const CIRCLE: RuleSource = {
  at: "built in",
  text: `a path leads through at most ${MAX_LINKS} links`,
};
/** Built in: what git reads from there can start programs, and no governance file makes that harmless. */
const GIT: Ruled<string> = {
  value: "what git keeps in .git is written by git alone",
  rule: { at: "built in", text: ".git is forbidden for writing, in every spelling" },
};
const REPOSITORY: RuleSource = {
  at: "built in",
  text: "a git repository's own folder is forbidden for writing, and none is made",
};
/** What a rule is called in messages, where its text would say too little. */
const CALLED: Partial<Record<string, string>> = {
  $DATA_DIR: "the server's own data",
  $CONFIG: "the server's own configuration",
};

interface Names {
  readonly named: string;
  /** With links resolved. */
  readonly real: string;
}

interface RuledRegion extends Ruled<Region> {
  /** `$DATA_DIR` itself: workspace and scratch folders inside it are excepted. */
  readonly isData: boolean;
}

/** An allowed folder by both of its names, and what must fit below it. */
interface Root extends Names {
  readonly start: Variable | "/";
  readonly region: Region;
}

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

interface Surveyed {
  readonly forbidden: readonly RuledRegion[];
  readonly unwritable: readonly RuledRegion[];
  readonly unattended: readonly RuledRegion[];
  readonly roots: readonly Root[];
  readonly workspace: Names;
  readonly scratch: Names | null;
  readonly data: Names;
  readonly fold: Fold;
  readonly places: PathVariables;
  readonly allowedRule: RuleSource;
}

function pathRulesOf(s: Surveyed): PathRules {
  const folders = s.roots.map((root) => ({
    root,
    bases: [root.real, root.named].map((base) => componentsOf(base).map(s.fold)),
  }));
  // Workspace and scratch folders may be kept in the data directory, but not the data directory in them.
  const excepted = folders.filter(
    ({ root }) => root.start === "$WORKSPACE" || root.start === "$SCRATCH",
  );
  const dataBases = [s.data.named, s.data.real].map((base) => componentsOf(base).map(s.fold));
  const isExcepted = (names: readonly string[]): boolean =>
    excepted.some(({ bases }) =>
      bases.some(
        (base) =>
          componentsBelow(base, names, s.fold) !== null &&
          !dataBases.some((data) => componentsBelow(base, data, s.fold) !== null),
      ),
    );

  function forbiddenBy(path: string, access: Access): RuledRegion | Ruled<string> | null {
    const names = componentsOf(path);
    for (const region of s.forbidden) {
      if (!region.value.covers(names)) continue;
      if (!region.isData || !isExcepted(names)) return region;
    }
    if (access === "read") return null;
    const named = s.unwritable.find((region) => region.value.covers(names));
    // The workspace itself may lie in such a folder (a worktree kept there), but nothing of it below the workspace.
    if (named || !names.some(isGitName)) return named ?? null;
    return (place(path)?.names ?? names).some(isGitName) ? GIT : null;
  }

  /**
   * Of a real path that is to be written: a folder on the way to it, or it itself, is a repository or would become
   * one.
   */
  async function repositoryAt(real: string, given: string): Promise<Refused | null> {
    const found = place(real);
    if (!found) return null;
    for (let depth = 0; depth <= found.names.length; depth++) {
      const folder = join(found.root.real, ...found.names.slice(0, depth));
      const has = (part: string): Promise<boolean> => exists(join(folder, part));
      if (await isRepository(has, found.names[depth])) return inRepository(given, show(folder));
    }
    return null;
  }

  /** The root a path belongs to, by either of its names, and the way down from it. */
  function place(path: string): { root: Root; names: readonly string[] } | null {
    const names = componentsOf(path);
    for (const { root, bases } of folders) {
      for (const base of bases) {
        const below = componentsBelow(base, names, s.fold);
        if (below && root.region.covers(names)) return { root, names: below };
      }
    }
    return null;
  }

  /** `path` is absolute and normalised. Follows links itself, so that each step is judged before it is taken. */
  async function follow(path: string, given: string, access: Access): Promise<string | Refused> {
    let wanted = path;
    for (let links = 0; links <= MAX_LINKS; links++) {
      const rule = forbiddenBy(wanted, access);
      if (rule) return forbiddenPath(given, rule, access);
      const found = place(wanted);
      if (!found) return outside(given, s.allowedRule);
      const real = join(found.root.real, ...found.names);
      const ruleOnReal = forbiddenBy(real, access);
      if (ruleOnReal) return forbiddenPath(given, ruleOnReal, access);
      const next = await firstLink(found.root.real, found.names);
      if (next === null) return real;
      wanted = next;
    }
    return {
      ok: false,
      reason: "path_not_found",
      message: `Path ${shownPath(given)}: its links lead in a circle`,
      remedy: "remove one of the links",
      rule: CIRCLE,
    };
  }

  /** The way down from a folder, by either of its names; null when the path is not below it. */
  const below = (folder: Names, path: string): readonly string[] | null => {
    const names = componentsOf(path);
    return (
      componentsBelow(componentsOf(folder.real).map(s.fold), names, s.fold) ??
      componentsBelow(componentsOf(folder.named).map(s.fold), names, s.fold)
    );
  };

  function show(path: string): string {
    const inWorkspace = below(s.workspace, path);
    if (inWorkspace) return inWorkspace.join("/") || ".";
    const inScratch = s.scratch && below(s.scratch, path);
    return inScratch ? ["$SCRATCH", ...inScratch].join("/") : path;
  }

  /** The entry itself: links are followed up to the folder that holds it. */
  async function entry(path: string, given: string, access: Access): Promise<string | Refused> {
    const rule = forbiddenBy(path, access);
    if (rule) return forbiddenPath(given, rule, access);
    const found = place(path);
    if (!found) return outside(given, s.allowedRule);
    if (found.names.length === 0) return follow(path, given, access);
    const folder = await follow(dirname(path), given, "read");
    if (typeof folder !== "string") return folder;
    const real = join(folder, basename(path));
    const ruleOnReal = forbiddenBy(real, access);
    if (ruleOnReal) return forbiddenPath(given, ruleOnReal, access);
    return place(real) ? real : outside(given, s.allowedRule);
  }

  return {
    workspace: s.workspace.real,
    scratch: s.scratch?.real ?? null,
    guarded: s.forbidden.flatMap(({ value }) => value.plainPaths),
    guardedForWriting: s.unwritable.flatMap(({ value }) => value.plainPaths),
    isRoot: (real) =>
      s.roots.some(
        (root) =>
          componentsBelow(componentsOf(real).map(s.fold), componentsOf(root.real), s.fold) !== null,
      ),
    foldersOnly(real) {
      const names = componentsOf(real);
      return (
        [...s.forbidden, ...s.unwritable].find((region) => region.value.leadsTo(names))?.rule ??
        null
      );
    },
    async locate(given, access, { itself } = {}): Promise<Located | Refused> {
      if (/[\p{Cc}\p{Cs}]/u.test(given))
        return forbiddenPath(given, { value: CONTROL.text, rule: CONTROL }, access);
      const path = resolve(
        s.workspace.named,
        expandStart(given, s.places.home, s.scratch?.named ?? null),
      );
      const real = await (itself ? entry : follow)(path, given, access);
      if (typeof real !== "string") return real;
      const refused = access === "write" ? await repositoryAt(real, given) : null;
      return refused ?? { ok: true, path: real, shown: show(real) };
    },
    allows(real, access) {
      const names = componentsOf(real);
      if (forbiddenBy(real, access) !== null) return false;
      return folders.some(
        ({ root, bases: [base = []] }) =>
          componentsBelow(base, names, s.fold) !== null && root.region.covers(names),
      );
    },
    show,
    unattended(real) {
      const names = componentsOf(real);
      return s.unattended.find((region) => region.value.covers(names))?.rule ?? null;
    },
  };

  function forbiddenPath(
    given: string,
    by: { value: Region | string; rule: RuleSource },
    access: Access,
  ): Refused {
    const text = typeof by.value === "string" ? by.value : (CALLED[by.value.text] ?? by.value.text);
    const writing =
      access === "write" && s.unwritable.some((region) => region === by) ? " for writing" : "";
    return {
      ok: false,
      reason: "path_forbidden",
      message: `Path ${shownPath(given)} is forbidden${writing}: ${text}`,
      remedy: "use a path inside the workspace; this rule has no exception",
      rule: by.rule,
    };
  }
}

/** As it was given, where nothing in it could be taken for the text around it. */
const shownPath = (given: string): string => (PLAIN_PATH.test(given) ? given : quote(given));
const PLAIN_PATH = /^[\w./~$@%+,=-]{1,200}$/;

function outside(given: string, rule: RuleSource): Refused {
  return {
    ok: false,
    reason: "path_not_allowed",
    message: `Path ${shownPath(given)} not in allowed paths`,
    remedy: "use a path inside the workspace, or ask an administrator to allow the folder",
    rule,
  };
}

function inRepository(given: string, folder: string): Refused {
  return {
    ok: false,
    reason: "path_forbidden",
    message: `path ${quote(given)}: ${quote(folder)} is a git repository, or would become one: its files are written by git alone`,
    remedy: "use another folder; this rule has no exception",
    rule: REPOSITORY,
  };
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** The path that results from replacing the first link below the root, or null when there is none. */
async function firstLink(root: string, names: readonly string[]): Promise<string | null> {
  let current = root;
  for (const [index, name] of names.entries()) {
    current = join(current, name);
    const stat = await lstat(current).catch(() => null);
    if (!stat) return null; // the rest does not exist, so it holds no links
    if (!stat.isSymbolicLink()) continue;
    const target = await readlink(current).catch(() => null);
    return target === null ? null : resolve(dirname(current), target, ...names.slice(index + 1));
  }
  return null;
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

async function regionsOf(
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

async function rootsOf(
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

async function namesOf(folder: string): Promise<Names> {
  const named = resolve(folder);
  // What does not exist yet will lie below what does.
  for (
    let there = named, rest: string[] = [];
    ;
    rest = [basename(there), ...rest], there = dirname(there)
  ) {
    const real = await realpath(there).catch(() => null);
    if (real !== null) return { named, real: join(real, ...rest) };
    if (there === dirname(there)) return { named, real: named };
  }
}

/** Asks the file system itself: is the same folder there under a name in the other case? */
async function foldsCase(folder: string): Promise<boolean> {
  const real = await realpath(folder).catch(() => null);
  const other =
    real === null ? null : real === real.toUpperCase() ? real.toLowerCase() : real.toUpperCase();
  if (real === null || other === null || other === real) return process.platform !== "linux";
  const [one, two] = await Promise.all([real, other].map((path) => lstat(path).catch(() => null)));
  return one != null && two != null && one.dev === two.dev && one.ino === two.ino;
}

/** Only at the start, and only as a whole component: `~user` and `$HOMER` are plain names. */
function expandStart(path: string, home: string, scratch: string | null): string {
  const [start] = /^(?:~|\$HOME|\$\{HOME\}|\$SCRATCH|\$\{SCRATCH\})(?=$|[/\\])/.exec(path) ?? [""];
  const folder = start.includes("SCRATCH") ? scratch : home;
  return start === "" || folder === null ? path : join(folder, path.slice(start.length));
}
