// The last log lines of a server, for administrators.

export interface LogTail {
  add(line: string): void;
  /** Unless it is among them already. */
  addOnce(line: string): void;
  lines(): readonly string[];
}

const MAX_LINES = 500;
const MAX_LENGTH = 2_000;

export function createLogTail(masked: (text: string) => string): LogTail {
  const lines: string[] = [];
  const cleaned = (line: string): string =>
    masked(line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line);
  const add = (line: string): void => {
    lines.push(cleaned(line));
    if (lines.length > MAX_LINES) lines.splice(0, lines.length - MAX_LINES);
  };
  return {
    add,
    addOnce(line) {
      if (!lines.includes(cleaned(line))) add(line);
    },
    lines: () => [...lines],
  };
}
