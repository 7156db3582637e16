// Names of the schema, offered while people type.
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";

export const useSchema = () =>
  useData(["relationships", "schema"], (signal) =>
    api.relationships.getRelationSchema.query(undefined, { signal }),
  );

const named = (schema: string, word: string): string[] => [
  ...new Set(
    [...schema.matchAll(new RegExp(`^\\s*${word}\\s+([a-z0-9_/]+)`, "gm"))].map(
      ([, name]) => name ?? "",
    ),
  ),
];

export function Suggestions() {
  const { schema = "" } = useSchema().data ?? {};
  const lists = {
    "relation-types": named(schema, "definition"),
    "relation-names": named(schema, "relation"),
    "permission-names": [...named(schema, "permission"), ...named(schema, "relation")],
  };
  return (
    <>
      {Object.entries(lists).map(([id, names]) => (
        <datalist key={id} id={id}>
          {[...new Set(names)].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ))}
    </>
  );
}
