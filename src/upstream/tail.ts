// The last lines that a server said, for people who look for what went wrong.

export interface Tail {
  add(line: string): void;
  lines(): readonly string[];
}

const MAX_LINES = 500;
const MAX_LENGTH = 2_000;

export function createTail(masked: (text: string) => string): Tail {
  const lines: string[] = [];
  return {
    add(line) {
      const cut = line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
      lines.push(masked(cut));
      if (lines.length > MAX_LINES) lines.splice(0, lines.length - MAX_LINES);
    },
    lines: () => [...lines],
  };
}
