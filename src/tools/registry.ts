import type { Tool } from "./tool.ts";

export interface ToolFilter {
  readonly category?: string;
  readonly tags?: readonly string[];
  readonly search?: string;
  readonly includeDeprecated?: boolean;
}

export interface RegistryStats {
  readonly totalTools: number;
  readonly categories: Readonly<Record<string, number>>;
}

/** Every tool known to this process, by canonical name, wire name and alias. */
export interface Registry {
  /** Rises with every change; caches compare it. */
  readonly revision: number;
  /** By any of its names; absent gives null. */
  get(name: string): Tool | null;
  /** Bytewise by wire name. */
  all(): readonly Tool[];
  /** Validates, refuses duplicates (CONFLICT / already_exists), stores, then emits `toolRegistered`. */
  register(tool: Tool): Promise<void>;
  unregister(name: string): Promise<boolean>;
  setEnabled(name: string, enabled: boolean): Promise<boolean>;
  stats(): RegistryStats;
  on(event: "toolRegistered" | "toolChanged", listener: (tool: Tool) => void): () => void;
}

/** Filters a caller's own list (R015-R018): category, every tag, substring of name or description. */
export function filterTools(tools: readonly Tool[], filter: ToolFilter): Tool[] {
  const text = filter.search?.toLowerCase();
  return tools.filter(
    (tool) =>
      (filter.category === undefined || tool.category === filter.category) &&
      (filter.tags ?? []).every((tag) => tool.tags.includes(tag)) &&
      (filter.includeDeprecated === true || tool.deprecated === null) &&
      (text === undefined ||
        tool.name.toLowerCase().includes(text) ||
        tool.wireName.includes(text) ||
        tool.description.toLowerCase().includes(text)),
  );
}
