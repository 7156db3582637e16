// Governance for attacks of many calls: the shipped rules, but nobody is slowed down, so that each case is really
// judged.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { governanceWith, openHouse } from "../fixtures/open-house.ts";

/** `asked`: as shipped; `open`: nobody is asked. Every user may read the folder. */
export function unhurried(kind: "asked" | "open"): string {
  const folder = kind === "open" ? openHouse() : governanceWith({});
  chmodSync(folder, 0o755);
  const file = join(folder, "modes.yaml");
  const text = readFileSync(file, "utf8").replaceAll(/threshold: [36]$/gm, "threshold: 1000000");
  writeFileSync(file, text);
  return folder;
}

/** A case that was not judged proves nothing. */
export const isSlowedDown = (status: number): boolean => status === 429;
