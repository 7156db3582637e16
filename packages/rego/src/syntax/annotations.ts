// Metadata annotations: YAML in comments above packages and rules, answered by rego.metadata.*.
import { parse as parseYaml } from "yaml";
import { loadFailure } from "../errors.ts";
import { fromJson } from "../values/json.ts";
import { headPath } from "../compile/rule-tree.ts";
import { RegoObject, isArray } from "../values/value.ts";
import type { Comment, Module, Rule } from "./ast.ts";
import type { Value } from "../values/value.ts";

/** What the metadata built-ins answer inside one rule. */
export interface Metadata {
  rule(): Value;
  chain(): Value;
}

type Scope = "rule" | "document" | "package" | "subpackages";

interface Annotation {
  readonly scope: Scope;
  readonly path: readonly string[];
  readonly rule: Rule | undefined;
  readonly value: RegoObject;
}

/** Annotations are read when the first rule asks for them. */
export function metadataOf(modules: readonly Module[]): (module: Module, rule: Rule) => Metadata {
  let all: readonly Annotation[] | undefined;
  const annotations = (): readonly Annotation[] => (all ??= modules.flatMap(moduleAnnotations));
  return (module, rule) => ({
    rule: () => ruleAnnotation(annotations(), rule),
    chain: () => chain(annotations(), module, rule),
  });
}

function ruleAnnotation(all: readonly Annotation[], rule: Rule): Value {
  const own = all.find((each) => each.rule === rule && each.scope === "rule");
  const document = all.find((each) => each.rule === rule && each.scope === "document");
  return (own ?? document)?.value ?? RegoObject.EMPTY;
}

function chain(all: readonly Annotation[], module: Module, rule: Rule): Value {
  const path = headPath(module, rule);
  const own = all.filter((each) => each.scope === "rule" && each.rule === rule);
  const links: Value[] = own.map((each) => link(path, each.value));
  if (links.length === 0) links.push(link(path, undefined));
  for (const each of all) {
    if (each.scope === "document" && samePath(each.path, path)) links.push(link(path, each.value));
  }
  for (const each of all) {
    if (each.scope === "package" && samePath(each.path, module.path)) {
      links.push(link(module.path, each.value));
    }
  }
  for (let length = module.path.length; length > 0; length--) {
    const outer = module.path.slice(0, length);
    for (const each of all) {
      if (each.scope === "subpackages" && samePath(each.path, outer))
        links.push(link(outer, each.value));
    }
  }
  return links;
}

function link(path: readonly string[], annotations: Value | undefined): Value {
  return fromJson({ path, ...(annotations !== undefined && { annotations }) });
}

function samePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

function moduleAnnotations(module: Module): readonly Annotation[] {
  return metadataBlocks(module.comments).flatMap((block) => {
    const [first] = block;
    if (!first) return [];
    const value = readBlock(block, first);
    return [attach(module, first, value)];
  });
}

/** Runs of comment lines that start with METADATA. */
function metadataBlocks(comments: readonly Comment[]): readonly Comment[][] {
  const blocks: Comment[][] = [];
  let open: Comment[] | undefined;
  let line = 0;
  for (const comment of comments) {
    const isNext = comment.loc.line === line + 1;
    if (comment.text.trim() === "METADATA" && !(open && isNext)) blocks.push((open = [comment]));
    else if (open && isNext) open.push(comment);
    else open = undefined;
    ({ line } = comment.loc);
  }
  return blocks;
}

function readBlock(block: readonly Comment[], first: Comment): Value {
  const yaml = block.slice(1).map(({ text }) => text.replace(/^ /, ""));
  let json: unknown;
  try {
    json = parseYaml(yaml.join("\n"), { maxAliasCount: 100 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw loadFailure("rego_parse_error", first.loc, `invalid metadata: ${reason}`);
  }
  if (json === null || typeof json !== "object" || Array.isArray(json)) {
    throw loadFailure("rego_parse_error", first.loc, "expected METADATA block, found whitespace");
  }
  return fromJson(json);
}

/** A block belongs to the package or rule that follows it. */
function attach(module: Module, first: Comment, value: Value): Annotation {
  const fields = value as RegoObject;
  const written = fields.get("scope");
  const isPackage = first.loc.line < module.packageLoc.line;
  const rule = isPackage ? undefined : module.rules.find((each) => each.span[0] > first.offset);
  if (!isPackage && !rule) {
    throw loadFailure(
      "rego_parse_error",
      first.loc,
      "annotation must be followed by a package or rule",
    );
  }
  const fallback = isPackage ? "package" : fields.get("entrypoint") === true ? "document" : "rule";
  const scope = isScope(written) ? written : fallback;
  const path = rule ? headPath(module, rule) : module.path;
  return { scope, path, rule, value: normalize(fields, scope) };
}

function isScope(value: Value | undefined): value is Scope {
  return value === "rule" || value === "document" || value === "package" || value === "subpackages";
}

function normalize(fields: RegoObject, scope: Scope): RegoObject {
  return RegoObject.of([
    ...fields.entries().map(([name, value]): readonly [Value, Value] => {
      if (name === "authors" && isArray(value)) return [name, value.map(author)];
      if (name === "related_resources" && isArray(value)) return [name, value.map(resource)];
      return [name, value];
    }),
    ["scope", scope],
  ]);
}

const AUTHOR = /^(.*?)\s*(?:<([^<>]*)>)?$/;

function author(value: Value): Value {
  if (typeof value !== "string") return value;
  const match = AUTHOR.exec(value.trim());
  const [, name = "", email] = match ?? [];
  return fromJson({ ...(name !== "" && { name }), ...(email !== undefined && { email }) });
}

function resource(value: Value): Value {
  return typeof value === "string" ? fromJson({ ref: value }) : value;
}
