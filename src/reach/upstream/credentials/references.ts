// `${credential:NAME}` in what a server is reached with, filled in from the vault.
import { AppError } from "../../../contract/errors.ts";
import type { OpenedSecret, SecretOwner, Vault } from "./vault.ts";

interface Filled {
  readonly texts: Readonly<Record<string, string>>;
  /** In the order of their first use. */
  readonly used: readonly OpenedSecret[];
}

const REFERENCE = /\$\{credential:([^}]*)\}/g;

/** Throws UNAUTHORIZED / upstream_login, naming what is missing. */
export async function fillIn(
  given: Readonly<Record<string, string>>,
  owner: SecretOwner,
  vault: Pick<Vault, "get">,
): Promise<Filled> {
  const names = [...new Set(Object.values(given).flatMap(namesIn))];
  const found = await Promise.all(names.map((name) => vault.get(owner, name)));
  const missing = names.filter((_, at) => found[at] === null);
  if (missing.length > 0) throw missingOf(owner, missing);
  const used = found.filter((one) => one !== null);
  const values = new Map(used.map(({ name, value }) => [name, value]));
  const texts = Object.entries(given).map(
    ([name, text]) =>
      [name, text.replace(REFERENCE, (_, inner: string) => values.get(inner) ?? "")] as const,
  );
  return { texts: Object.freeze(Object.fromEntries(texts)), used };
}

const namesIn = (text: string): string[] =>
  [...text.matchAll(REFERENCE)].map(([, name]) => name ?? "");

function missingOf({ server, userId }: SecretOwner, names: readonly string[]): AppError {
  const [have, flag] = userId === "" ? ["none is stored", ""] : ["you have stored none", " --mine"];
  return new AppError(
    "UNAUTHORIZED",
    "upstream_login",
    `Server ${server.name} needs the credential ${names.join(", ")}, and ${have}`,
    { remedy: `ostiary servers credential ${server.name} ${names[0] ?? ""}${flag}` },
  );
}
