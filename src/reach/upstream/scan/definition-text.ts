// The texts of a definition, each with its place.
import { reveal } from "./hidden.ts";

/** A text of a definition, and where it stands. */
export interface DefinitionText {
  readonly path: string;
  readonly text: string;
  /** A key of an object, such as the name of a parameter. */
  readonly isName: boolean;
}

/** The place itself, a few words around it. */
export function excerptOf(text: string, at: number, length: number): string {
  const [from, to] = [Math.max(0, at - 40), Math.min(text.length, at + Math.min(length, 160) + 40)];
  return `${from > 0 ? "…" : ""}${reveal(text.slice(from, to))}${to < text.length ? "…" : ""}`;
}
