// Results as they come, and the closing line.

export interface Report {
  /** Passed when there are no faults. */
  result(name: string, faults: readonly string[]): void;
  skip(name: string, why: string): void;
  /** Prints the closing line; answers the exit code. */
  close(): number;
}

const SHOWN = 20;

export function openReport(): Report {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  return {
    result(name, faults) {
      counts[faults.length === 0 ? "passed" : "failed"]++;
      console.log(`${faults.length === 0 ? "✓" : "✗"} ${name}`);
      for (const fault of faults.slice(0, SHOWN)) console.log(`    ${fault}`);
      if (faults.length > SHOWN) console.log(`    and ${faults.length - SHOWN} more`);
    },
    skip(name, why) {
      counts.skipped++;
      console.log(`- ${name}: skipped, ${why}`);
    },
    close() {
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
      return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
    },
  };
}
