import { api } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { download } from "../../ui/download.ts";
import { notify } from "../../ui/toast.tsx";

const PAGE = 100;

/** Everything, whatever the list is narrowed by. */
export function ExportButton() {
  const save = useChange(exported, {
    onDone: ({ text, count }) => {
      download("relationships.yaml", text, "application/yaml");
      notify(`${count.toLocaleString("en")} relationships are saved`, {
        detail: "relationships.yaml, in the format of the SpiceDB playground",
      });
    },
  });
  return (
    <Button busy={save.isPending} onClick={() => save.mutate(undefined)}>
      Export
    </Button>
  );
}

async function exported(): Promise<{ text: string; count: number }> {
  const { playgroundText } = await import("./playground.ts");
  const { schema } = await api.relationships.getRelationSchema.query();
  const texts: string[] = [];
  for (let after: string | null = null; ;) {
    const page: { items: { text: string }[]; next: string | null } =
      await api.relationships.listRelationships.query({
        limit: PAGE,
        ...(after === null ? {} : { after }),
      });
    texts.push(...page.items.map(({ text }) => text));
    if (page.next === null) break;
    after = page.next;
  }
  return { text: playgroundText(schema, texts.sort()), count: texts.length };
}
