// Several statements as one message of PostgreSQL's simple protocol. The server acts on a message only when it is
// there as a whole, and what is in one message is one transaction: a client that freezes cannot leave one open.
import { escapeLiteral } from "pg";
import { bind } from "../bind.ts";

export interface PostgresStatement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export const inOneMessage = (statements: readonly PostgresStatement[]): string =>
  statements.map(inlined).join(";\n");

/** Text and names in quotes are passed over; what is left of `$1` is a parameter. */
const PARAMETER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\d+)/g;

/** Each value as a quoted literal: its type is found by its place, as a parameter's would be. */
function inlined({ sql, parameters }: PostgresStatement): string {
  return sql.replace(PARAMETER, (found, index: string | undefined) => {
    if (index === undefined) return found;
    const place = Number(index) - 1;
    if (!(place in parameters)) throw new Error(`the statement has no parameter ${found}: ${sql}`);
    return literalOf(parameters[place]);
  });
}

function literalOf(value: unknown): string {
  const bound = bind(value);
  if (bound === null) return "null";
  if (bound instanceof Uint8Array) return escapeLiteral(`\\x${Buffer.from(bound).toString("hex")}`);
  return escapeLiteral(String(bound));
}
