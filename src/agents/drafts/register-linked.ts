// At the start: registers the linked versions again, in case a crash came between link and registration.
import type { Store } from "../../storage/store/store.ts";
import type { Registry } from "../../tools/registry.ts";
import { createDraftedTool } from "./drafted-tool.ts";

export async function registerLinked({
  toolDrafts,
  registry,
}: {
  readonly toolDrafts: Pick<Store["toolDrafts"], "linked">;
  readonly registry: Pick<Registry, "all" | "get" | "put" | "unregister">;
}): Promise<void> {
  const linked = (await toolDrafts.linked()).map((row) =>
    createDraftedTool(row, registry.get(row.name)?.enabled),
  );
  const differ = linked.filter((tool) => {
    const there = registry.get(tool.name);
    return there?.pin !== tool.pin || there.linkState !== "linked";
  });
  if (differ.length > 0) await registry.put(differ);
  const names = new Set(linked.map(({ name }) => name));
  for (const { name, provider, linkState } of registry.all())
    if (provider === "drafted" && linkState === "linked" && !names.has(name))
      await registry.unregister(name);
}
