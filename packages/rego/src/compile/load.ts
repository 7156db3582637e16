// Compiling with every built-in of OPA: the groups that a policy mentions are imported first.
import { groupsIn, loadGroup } from "../builtins/groups.ts";
import { STANDARD_BUILTINS } from "../builtins/standard.ts";
import { parseQuery } from "../parse/module.ts";
import { collect, compileParsed, parseSources } from "./sources.ts";
import type { GroupName } from "../builtins/group-names.ts";
import type { LoadError } from "../errors.ts";
import type { Body } from "../syntax/ast.ts";
import type { CompileOptions, CompileResult, Sources } from "./sources.ts";

export interface LoadOptions extends CompileOptions {
  /** Queries that will be prepared: the built-ins that they mention are loaded too. */
  readonly queries?: readonly string[];
}

/**
 * As `compile`, with the groups of built-ins that the modules and queries mention. Never throws on a
 * bad policy: any text yields a policy or a list of errors with positions.
 */
export async function load(sources: Sources, options: LoadOptions = {}): Promise<CompileResult> {
  const errors: LoadError[] = [];
  const modules = parseSources(sources, options, errors);
  if (errors.length > 0) return { ok: false, errors };
  let groups: ReadonlySet<GroupName> = new Set();
  collect(errors, modules[0]?.file ?? "", () => {
    groups = groupsIn(modules, parsedQueries(options));
  });
  if (errors.length > 0) return { ok: false, errors };
  const loaded = await Promise.all([...groups].map(loadGroup));
  return compileParsed(modules, [...STANDARD_BUILTINS, ...loaded.flat()], options);
}

/** Only those that parse: the others are refused when they are prepared. */
function parsedQueries({ queries = [], version = "v1" }: LoadOptions): readonly Body[] {
  return queries.flatMap((query) => {
    const parsed: Body[] = [];
    collect([], "query", () => parsed.push(parseQuery("query", query, version)));
    return parsed;
  });
}
