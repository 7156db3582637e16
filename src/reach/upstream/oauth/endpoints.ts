// Discovery returns addresses chosen by a foreign server: only those that may be requested are accepted.
import type { OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { quote } from "../../../util/text/quote.ts";

/** The address of a server over HTTP; empty for a program. */
export const urlOf = ({ transport }: ServerRow): string =>
  "url" in transport ? transport.url : "";

const ENDPOINTS = [
  "issuer",
  "authorization_endpoint",
  "token_endpoint",
  "registration_endpoint",
  "revocation_endpoint",
] as const;

/** Throws unless the place is a web address with TLS, or one on this machine. */
export function assertWebAddress(address: string, what: string): void {
  const url = URL.parse(address);
  const secure = url?.protocol === "https:" || (url?.protocol === "http:" && isHere(url.hostname));
  if (!url || !secure)
    throw refused(`${what} is ${quote(address)}; expected https, or http on this machine`);
  if (url.username !== "" || url.password !== "")
    throw refused(`${what} holds a name or a password`);
}

/** Checks the whole discovery result before any address in it is used. */
export function assertUsable(found: OAuthDiscoveryState, people: boolean): void {
  assertWebAddress(found.authorizationServerUrl, "the authorization server");
  const metadata = found.authorizationServerMetadata as Record<string, unknown> | undefined;
  if (metadata === undefined)
    throw refused(
      `the authorization server ${quote(found.authorizationServerUrl)} publishes no metadata`,
    );
  for (const name of ENDPOINTS) {
    const address = metadata[name];
    if (address !== undefined) assertWebAddress(typeof address === "string" ? address : "", name);
  }
  // A code that was stolen on its way is of no use without the verifier.
  const methods = metadata["code_challenge_methods_supported"];
  if (people && !(Array.isArray(methods) && methods.includes("S256")))
    throw refused("the authorization server does not say that it supports PKCE with S256");
}

const isHere = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);

export const refused = (message: string): AppError =>
  new AppError(
    "EXECUTION_FAILED",
    "upstream_protocol",
    `The authorization was refused here: ${message}`,
    { remedy: "ask the operator of that server; nothing was sent to that address" },
  );
