// The same call for other doors. The key is never in it: each reads it from a variable or a file.
import { jsonText } from "../../../ui/code.tsx";
import type { Execution } from "../row.ts";

type Call = Pick<Execution, "toolName" | "arguments">;

/** For a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl({ toolName: name, arguments: args }: Call): string {
  return [
    `curl -s ${quoted(`${window.location.origin}/api/v1/executions`)}`,
    `-H "Authorization: Bearer $OSTIARY_KEY"`,
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify({ name, arguments: args }))}`,
  ].join(" \\\n  ");
}

export const asCommand = ({ toolName, arguments: args }: Call): string =>
  `npx ostiary call ${quoted(toolName)} --args ${quoted(JSON.stringify(args))}`;

export const asMcp = ({ toolName: name, arguments: args }: Call): string =>
  jsonText({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
