// What a member can depend on, by the schema alone.
import type { Member, Node, Schema } from "./schema.ts";

/** Members that are evaluated for this one, on this object or on others. */
function* dependencies(schema: Schema, member: Member): Generator<Member> {
  const find = (type: string, name: string): Member | undefined =>
    schema.types.get(type)?.members.get(name);
  for (const { type, relation } of member.allowed ?? []) {
    const found = relation === "" ? undefined : find(type, relation);
    if (found !== undefined) yield found;
  }
  for (const node of nodes(member.body)) {
    if (node.kind === "member") yield node.member;
    if (node.kind !== "arrow") continue;
    for (const { type } of find(member.type, node.relation)?.allowed ?? []) {
      const found = find(type, node.target);
      if (found !== undefined) yield found;
    }
  }
}

function* nodes(node: Node): Generator<Node> {
  yield node;
  if (node.kind === "union" || node.kind === "intersection")
    for (const child of node.children) yield* nodes(child);
  if (node.kind === "exclusion") {
    yield* nodes(node.base);
    yield* nodes(node.subtract);
  }
}

function reachable(schema: Schema, start: Member): Set<Member> {
  const seen = new Set<Member>();
  const open = [start];
  for (let member = open.pop(); member !== undefined; member = open.pop())
    for (const next of dependencies(schema, member))
      if (!seen.has(next)) {
        seen.add(next);
        open.push(next);
      }
  return seen;
}

export function markRecursion(schema: Schema): void {
  for (const { members } of schema.types.values())
    for (const member of members.values()) member.recursive = reachable(schema, member).has(member);
}

/** Types whose objects can end up with a permission. */
export function reachableTypes(schema: Schema, member: Member): Set<string> {
  const types = new Set<string>();
  for (const one of [member, ...reachable(schema, member)]) {
    for (const { type, relation, wildcard } of one.allowed ?? [])
      if (relation === "" && !wildcard) types.add(type);
    for (const node of nodes(one.body)) if (node.kind === "self") types.add(one.type);
  }
  return types;
}
