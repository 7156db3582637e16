// Where the calls behind a number are listed.
import type { Range } from "./range.ts";

export function executionsPath(
  { from, to }: Pick<Range, "from" | "to">,
  { tool, category, user }: { tool?: string; category?: string; user?: string },
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({
    startDate: new Date(from).toISOString(),
    endDate: new Date(to).toISOString(),
    ...(tool === undefined ? {} : { toolName: tool }),
    ...(category === undefined ? {} : { category }),
    ...(user === undefined ? {} : { userId: user }),
    ...more,
  });
  return `/executions?${query}`;
}
