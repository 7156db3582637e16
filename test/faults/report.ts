// Results as they come, and the closing line; with a file, the same for programs.
import { writeFileSync } from "node:fs";

export interface Report {
  /** Passed when there are no faults. */
  result(name: string, faults: readonly string[]): void;
  skip(name: string, why: string): void;
  /** Sums of a part, for the file. */
  figures(part: string, values: Readonly<Record<string, number>>): void;
  /** Prints the closing line; answers the exit code. */
  close(): number;
}

const SHOWN = 20;

export interface ReportFile {
  readonly results: readonly { readonly name: string; readonly faults: readonly string[] }[];
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
  readonly figures: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export function openReport(file?: string): Report {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const results: ReportFile["results"][number][] = [];
  const skipped: ReportFile["skipped"][number][] = [];
  const figures: Record<string, Readonly<Record<string, number>>> = {};
  return {
    result(name, faults) {
      counts[faults.length === 0 ? "passed" : "failed"]++;
      results.push({ name, faults });
      console.log(`${faults.length === 0 ? "✓" : "✗"} ${name}`);
      for (const fault of faults.slice(0, SHOWN)) console.log(`    ${fault}`);
      if (faults.length > SHOWN) console.log(`    and ${faults.length - SHOWN} more`);
    },
    skip(name, why) {
      counts.skipped++;
      skipped.push({ name, why });
      console.log(`- ${name}: skipped, ${why}`);
    },
    figures(part, values) {
      figures[part] = values;
    },
    close() {
      const told: ReportFile = { results, skipped, figures };
      if (file !== undefined) writeFileSync(file, `${JSON.stringify(told, null, 2)}\n`);
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
      return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
    },
  };
}
