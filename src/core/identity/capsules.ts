// What a capsule holds, kept in memory: the capsule stage asks on every call.
import type { CapsuleRules } from "../../contract/agent-config.ts";
import type { Tool } from "../../contract/tool.ts";
import type { CapsuleRow, Listing, Store } from "../../storage/store/store.ts";
import { createCoalescer } from "../../util/async/coalesce.ts";
import { SEARCH_TOOLS } from "../../util/tool-search.ts";
import { capsuleRules, keptAway } from "./capsule-rules.ts";

export interface CapsuleTools {
  has(toolName: string): boolean;
  readonly listing: Listing;
  /** Absent: it says nothing about the use of its tools. */
  readonly rules?: CapsuleRules;
}

export interface Capsules {
  /** Rises with every change that this process learns of. */
  readonly revision: number;
  /** Null when there is no such active capsule. */
  find(id: string): CapsuleTools | null | Promise<CapsuleTools | null>;
  forget(): void;
}

export interface CapsulesPowers {
  readonly store: Pick<Store, "capsules" | "shared">;
  readonly now: () => number;
  readonly tool: (name: string) => Tool | null;
}

const SHARED_LEASE_MS = 800;
const MAX_KNOWN = 10_000;

export function createCapsules(p: CapsulesPowers): Capsules {
  const known = new Map<string, { tools: CapsuleTools | null; learntAt: number }>();
  const once = createCoalescer();
  let epoch = 0;

  const learn = async (id: string): Promise<CapsuleTools | null> => {
    const began = epoch;
    const row = await p.store.capsules.get(id);
    const tools = row?.status === "active" ? toolsOf(row) : null;
    if (began === epoch && known.size < MAX_KNOWN) known.set(id, { tools, learntAt: p.now() });
    return tools;
  };

  // Capsule `all` holds every native tool; upstream ones are linked by a person.
  const isNative = (name: string): boolean => p.tool(name)?.provider === "native";
  /** Of an upstream tool the definition that is approved now, of a drafted one the program that is linked. */
  const approvedPin = (name: string): string | null => {
    const tool = p.tool(name);
    return tool?.route?.pin ?? tool?.drafted?.hash ?? null;
  };

  const toolsOf = (row: CapsuleRow): CapsuleTools => {
    const held = holding(row);
    const isAway = keptAway(row);
    const rules = capsuleRules(row);
    if (!isAway) return rules ? { ...held, rules } : held;
    const has = (name: string): boolean => {
      const tool = held.has(name) ? p.tool(name) : null;
      return tool !== null && !isAway(tool);
    };
    return { listing: held.listing, has, ...(rules ? { rules } : {}) };
  };

  /**
   * `server/tool@pin` holds the tool only while the approved definition is that one, also where its name stands there
   * too.
   */
  const holding = ({ capabilities, listing }: CapsuleRow): CapsuleTools => {
    const names = new Set(capabilities.filter((held) => !held.includes("@")));
    // A search is of no use without the tools to search with; what they find is held, or not, all the same.
    if (listing === "search") for (const name of SEARCH_TOOLS) names.add(name);
    const pins = Map.groupBy(
      capabilities.filter((held) => held.includes("@")).map((held) => held.split("@", 2)),
      ([name = ""]) => name,
    );
    const every = names.has("*");
    if (pins.size === 0)
      return {
        listing,
        has: every ? (name) => names.has(name) || isNative(name) : (name) => names.has(name),
      };
    return {
      listing,
      has(name) {
        const pinned = pins.get(name);
        if (pinned) return pinned.some(([, pin = ""]) => approvedPin(name)?.startsWith(pin));
        return names.has(name) || (every && isNative(name));
      },
    };
  };

  return {
    get revision() {
      return epoch;
    },
    find(id) {
      const hit = known.get(id);
      if (hit && (!p.store.shared || p.now() - hit.learntAt < SHARED_LEASE_MS)) return hit.tools;
      return once.run(id, () => learn(id));
    },
    forget() {
      epoch++;
      known.clear();
      once.forget();
    },
  };
}
