// Arguments as text: what the editor, the form and the address share.
import { jsonText } from "../code.tsx";

export type Arguments = Record<string, unknown>;

export type ParsedArguments =
  | { readonly value: Arguments; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { value: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value: value as Arguments };
    return { fault: "Expected one JSON object, e.g. {}" };
  } catch (cause) {
    return { fault: cause instanceof Error ? cause.message : "This is not JSON" };
  }
}

export const argumentsText = (value: Readonly<Arguments>): string => jsonText(value);
