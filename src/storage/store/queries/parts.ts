// Sums of any kind of row, added up into figures: of everything, per tool, per category, per user.
import { percentilesOf, type Counts } from "../buckets.ts";
import type { Figures, PartFigures, Stats } from "../store.ts";
import type { RollupStatus } from "../tables/tables.ts";

export interface StatusSum {
  readonly status: RollupStatus;
  readonly count: number;
  readonly totalMs: number;
}

/** A row of the rollups, or one execution. */
export interface Part extends StatusSum {
  readonly userId: string;
  readonly toolName: string;
  readonly category: string;
  readonly lastStart: number;
}

interface Group {
  readonly counts: Record<RollupStatus, number>;
  totalMs: number;
  lastStart: number;
}

export interface Parts {
  readonly add: (part: Part) => void;
  /** Of all parts; counted beside them. */
  readonly durations: Counts;
  stats(): Stats;
}

export function tallyParts(perUser: boolean): Parts {
  const all = newGroup();
  const [tools, categories, users] = [0, 1, 2].map(() => new Map<string, Group>()) as [
    Groups,
    Groups,
    Groups,
  ];
  const durations: Counts = new Map();
  return {
    durations,
    add(part) {
      addTo(all, part);
      addTo(groupOf(tools, part.toolName), part);
      addTo(groupOf(categories, part.category), part);
      if (perUser) addTo(groupOf(users, part.userId), part);
    },
    stats: () => ({
      figures: figuresOfGroup(all),
      durations: percentilesOf(durations),
      tools: listed(tools),
      categories: listed(categories),
      users: listed(users),
    }),
  };
}

export function figuresOf(sums: readonly StatusSum[]): Figures {
  const group = newGroup();
  for (const sum of sums) addTo(group, { ...sum, lastStart: 0 });
  return figuresOfGroup(group);
}

type Groups = Map<string, Group>;

const newGroup = (): Group => ({
  counts: { success: 0, failed: 0, cancelled: 0, timeout: 0 },
  totalMs: 0,
  lastStart: 0,
});

function groupOf(groups: Groups, name: string): Group {
  let group = groups.get(name);
  if (!group) groups.set(name, (group = newGroup()));
  return group;
}

function addTo(group: Group, part: StatusSum & { readonly lastStart: number }): void {
  group.counts[part.status] += part.count;
  group.totalMs += part.totalMs;
  if (part.lastStart > group.lastStart) group.lastStart = part.lastStart;
}

function figuresOfGroup({ counts, totalMs }: Group): Figures {
  const { success, failed, timeout } = counts;
  const cancelled = counts.cancelled + timeout;
  const total = success + failed + cancelled;
  const averageExecutionTime = total === 0 ? 0 : Math.round((totalMs / total) * 100) / 100;
  return { total, success, failed, cancelled, timeout, averageExecutionTime };
}

function listed(groups: Groups): PartFigures[] {
  return [...groups]
    .map(([name, group]) => ({ ...figuresOfGroup(group), name, lastStart: group.lastStart }))
    .sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
}
