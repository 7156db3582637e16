// Partials are pieces of definitions (`...name`): inserted where they are named, before definitions are read.
import { schemaFault } from "./fault.ts";
import type {
  DefinitionSyntax,
  MemberSyntax,
  PermissionSyntax,
  RelationSyntax,
  SchemaSyntax,
} from "./parse.ts";
import type { ResolvedDefinition } from "./schema.ts";

export function resolvePartials(text: string, syntax: SchemaSyntax): readonly ResolvedDefinition[] {
  const partials = new Map<string, DefinitionSyntax>();
  for (const one of syntax.definitions) if (one.kind === "partial") partials.set(one.name, one);

  const resolve = (
    members: readonly MemberSyntax[],
    inside: readonly string[],
  ): (RelationSyntax | PermissionSyntax)[] =>
    members.flatMap((member) => {
      if (member.kind !== "partial reference") return [member];
      const partial = partials.get(member.name);
      if (partial === undefined)
        throw schemaFault(text, member.at, `there is no partial \`${member.name}\``);
      if (inside.includes(member.name))
        throw schemaFault(text, member.at, `partial \`${member.name}\` contains itself`);
      return resolve(partial.members, [...inside, member.name]);
    });

  for (const [name, partial] of partials) resolve(partial.members, [name]);
  return syntax.definitions
    .filter((one): one is DefinitionSyntax => one.kind === "definition")
    .map((definition) => ({ definition, members: resolve(definition.members, []) }));
}
