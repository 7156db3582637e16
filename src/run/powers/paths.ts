// Where a path leads, decided component by component and without touching anything outside the allowed folders.
import { lstat, readlink, realpath } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { AppError } from "../../errors.ts";
import type { FileRules } from "./files-rules.ts";

const MAX_LINKS = 40;

interface Root {
  /** As it was configured. */
  readonly named: string;
  /** With links resolved. */
  readonly real: string;
}

interface Forbidden {
  /** As the rule spells it, for messages. */
  readonly rule: string;
  readonly paths: readonly string[];
}

/** A path that has passed the rules: absolute, free of links, inside an allowed folder. */
export interface Located {
  readonly path: string;
  /** For answers: relative to the workspace where inside it. */
  readonly shown: string;
}

export interface Territory {
  /** Throws FORBIDDEN for whatever is not allowed, and says the same whether it exists or not. */
  locate(given: string): Promise<Located>;
  /** The rules for a real path that was reached another way, e.g. an entry of a folder or an opened descriptor. */
  allows(real: string): boolean;
  show(real: string): string;
}

export interface TerritorySettings {
  readonly workspace: string;
  readonly home: string;
  readonly dataDir: string;
  readonly configFiles?: readonly string[];
  readonly rules: FileRules;
  readonly caseInsensitive: boolean;
}

export async function surveyTerritory(settings: TerritorySettings): Promise<Territory> {
  const { home, dataDir, rules, caseInsensitive } = settings;
  const below = belowBy(caseInsensitive);
  const inside = (base: string, path: string): boolean => below(base, path) !== null;
  const roots = await Promise.all([settings.workspace, ...rules.allowed].map((folder) => rootOf(expandHome(folder, home)))); // prettier-ignore
  const workspace = roots[0] ?? { named: settings.workspace, real: settings.workspace };
  const forbidden = await Promise.all(rules.forbidden.map((rule) => forbiddenOf(rule, home)));
  const data = await forbiddenOf(dataDir, home);
  const configFiles = await Promise.all(
    (settings.configFiles ?? []).map((file) => forbiddenOf(file, home)),
  );

  function ruleAgainst(path: string): string | null {
    const hit = forbidden.find((entry) => entry.paths.some((base) => inside(base, path)));
    if (hit) return `${hit.rule} is forbidden`;
    if (configFiles.some((file) => file.paths.some((base) => inside(base, path))))
      return "the server's own configuration is forbidden";
    const inData = data.paths.some((base) => inside(base, path));
    // A workspace kept in the data directory is the exception; the data directory as workspace is not.
    const excepted = roots.some(({ real, named }) =>
      [real, named].some(
        (root) => inside(root, path) && !data.paths.some((base) => inside(root, base)),
      ),
    );
    return inData && !excepted ? "the server's own data is forbidden" : null;
  }

  /** The root a path belongs to, by either of its names, and the way down from it. */
  function place(path: string): { root: Root; names: string[] } | null {
    for (const root of roots) {
      const names = below(root.real, path) ?? below(root.named, path);
      if (names) return { root, names };
    }
    return null;
  }

  function show(path: string): string {
    const found = place(path);
    return found?.root === workspace ? found.names.join("/") || "." : path;
  }

  /** `path` is absolute and normalised. Follows links itself, so that each step is judged before it is taken. */
  async function follow(path: string, given: string): Promise<string> {
    let wanted = path;
    for (let links = 0; links <= MAX_LINKS; links++) {
      const rule = ruleAgainst(wanted);
      if (rule) throw forbiddenPath(given, rule);
      const found = place(wanted);
      if (!found) throw outside(given);
      const real = join(found.root.real, ...found.names);
      const ruleOnReal = ruleAgainst(real);
      if (ruleOnReal) throw forbiddenPath(given, ruleOnReal);
      const next = await firstLink(found.root.real, found.names);
      if (next === null) return real;
      wanted = next;
    }
    throw failed("path_not_found", given, "its links lead in a circle", "remove one of the links");
  }

  return {
    async locate(given) {
      if (/\p{Cc}/u.test(given)) throw forbiddenPath(given, "a path holds no NUL or control characters"); // prettier-ignore
      const path = resolve(workspace.named, expandHome(given, home));
      const real = await follow(path, given);
      return { path: real, shown: show(real) };
    },
    allows: (real) => ruleAgainst(real) === null && roots.some((root) => inside(root.real, real)),
    show,
  };
}

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

async function rootOf(folder: string): Promise<Root> {
  const named = resolve(folder);
  return { named, real: await realpath(named).catch(() => named) };
}

async function forbiddenOf(rule: string, home: string): Promise<Forbidden> {
  const { named, real } = await rootOf(expandHome(rule, home));
  const realHome = await realpath(home).catch(() => home);
  return { rule, paths: [...new Set([named, real, resolve(expandHome(rule, realHome))])] };
}

/** Only at the start, and only as a whole component: `~user` and `$HOMER` are plain names. */
export function expandHome(path: string, home: string): string {
  const match = /^(?:~|\$HOME|\$\{HOME\})(?=$|[/\\])/.exec(path);
  return match ? join(home, path.slice(match[0].length)) : path;
}

/** The components of `path` below `base`, or null: components are compared, never string prefixes. */
function belowBy(caseInsensitive: boolean): (base: string, path: string) => string[] | null {
  const fold = (name: string): string =>
    caseInsensitive ? name.normalize("NFC").toLowerCase() : name;
  return (base, path) => {
    const above = base.split(sep).filter(Boolean);
    const names = path.split(sep).filter(Boolean);
    const fits = above.every((name, index) => fold(name) === fold(names[index] ?? ""));
    return fits ? names.slice(above.length) : null;
  };
}

function forbiddenPath(given: string, rule: string): AppError {
  return new AppError("FORBIDDEN", "path_forbidden", `path ${quote(given)}: ${rule}`, {
    remedy: "use a path inside the workspace; this rule has no exception",
  });
}

function outside(given: string): AppError {
  return new AppError("FORBIDDEN", "path_not_allowed", `path ${quote(given)} leads outside the workspace`, {
    remedy: "use a path inside the workspace, or ask an administrator to allow the folder",
  }); // prettier-ignore
}

export function failed(reason: string, given: string, message: string, remedy: string): AppError {
  return new AppError("EXECUTION_FAILED", reason, `path ${quote(given)}: ${message}`, { remedy });
}

/** The value as the caller gave it, visible and short. */
export function quote(given: string): string {
  const text = JSON.stringify(given.length > 200 ? `${given.slice(0, 200)}…` : given);
  return text.replace(/\p{Cc}/gu, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}
