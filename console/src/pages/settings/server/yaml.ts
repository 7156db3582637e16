// Settings as the YAML of a settings file. Values are written as JSON, which is YAML as well.
import type { Setting } from "./settings.tsx";

interface Branch {
  readonly leaves: Map<string, string>;
  readonly branches: Map<string, Branch>;
}

const branch = (): Branch => ({ leaves: new Map(), branches: new Map() });

/** Secrets and what is not set are left out, as a comment says. */
export function yamlOf(settings: readonly Pick<Setting, "key" | "value" | "secret">[]): string {
  const root = branch();
  const left: string[] = [];
  for (const { key, value, secret } of settings) {
    if (value === null || value === undefined) continue;
    if (secret) {
      left.push(key);
      continue;
    }
    const path = key.split(".");
    const name = path.pop() ?? key;
    let at = root;
    for (const part of path) {
      const next = at.branches.get(part) ?? branch();
      at.branches.set(part, next);
      at = next;
    }
    at.leaves.set(name, JSON.stringify(value));
  }
  const note = left.length === 0 ? [] : [`# Secrets are left out: ${left.join(", ")}`];
  return [...note, ...linesOf(root, "")].join("\n") + "\n";
}

function linesOf({ leaves, branches }: Branch, indent: string): string[] {
  return [
    ...[...leaves].map(([name, value]) => `${indent}${name}: ${value}`),
    ...[...branches].flatMap(([name, inner]) => [
      `${indent}${name}:`,
      ...linesOf(inner, `${indent}  `),
    ]),
  ];
}
