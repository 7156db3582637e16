// Names for operations and arguments, in letters that every client takes, none twice.
import { PSEUDO_NAMES } from "../upstream/definitions/pseudo.ts";

const MAX_TOOL = 64;
const MAX_ARGUMENT = 64;

/** Hands out names: what is asked for, or the same with a number behind it. */
export interface FreeNames {
  take(...wishes: readonly string[]): string;
}

export const toolNames = (): FreeNames => namesWithin(MAX_TOOL, Object.values(PSEUDO_NAMES));
export const argumentNames = (taken: readonly string[]): FreeNames =>
  namesWithin(MAX_ARGUMENT, taken);

function namesWithin(maxChars: number, reserved: readonly string[]): FreeNames {
  const taken = new Set(reserved.map(folded));
  const isFree = (name: string): boolean => name !== "" && !taken.has(folded(name));
  return {
    take(...wishes) {
      const plain = wishes.map((wish) => plainly(wish).slice(0, maxChars));
      let name = plain.find(isFree);
      for (let number = 2; name === undefined; number++) {
        const numbered = `${(plain[0] || "operation").slice(0, maxChars - 5)}_${number}`;
        if (isFree(numbered)) name = numbered;
      }
      taken.add(folded(name));
      return name;
    },
  };
}

/** Names that differ only so would be taken for each other. */
const folded = (name: string): string => name.toLowerCase().replaceAll("-", "_");

/** Limit for foreign names; longer ones are cut. */
const MAX_WISH = 1_000;
const plainly = (wish: string): string =>
  wish
    .slice(0, MAX_WISH)
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "");
