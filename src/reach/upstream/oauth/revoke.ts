// Revokes the tokens of a login at its authorization server (RFC 7009).
import type { OAuthGrant } from "./grant-store.ts";
import { assertWebAddress } from "./endpoints.ts";
import { overGuard, type FlowPowers } from "./flow.ts";
import type { ClientIdentity } from "./provider.ts";

/** False: it has no place for that, or did not take it. They are forgotten here all the same. */
export async function revoke(
  serverUrl: string,
  { issuer, client, tokens }: OAuthGrant,
  me: ClientIdentity,
  p: FlowPowers,
): Promise<boolean> {
  const { discoverAuthorizationServerMetadata, selectClientAuthMethod } =
    await import("@modelcontextprotocol/client");
  return overGuard(serverUrl, p, async (fetch) => {
    const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch });
    const { revocation_endpoint: endpoint, revocation_endpoint_auth_methods_supported: own } =
      (metadata ?? {}) as {
        revocation_endpoint?: string;
        revocation_endpoint_auth_methods_supported?: string[];
      };
    const id = client?.client_id ?? me.clientId;
    if (!metadata || typeof endpoint !== "string" || id === undefined) return false;
    assertWebAddress(endpoint, "the place for tokens that are given up");
    const us: { client_id: string; client_secret?: string | undefined } = {
      ...client,
      client_id: id,
    };
    const method = selectClientAuthMethod(
      us,
      own ?? metadata.token_endpoint_auth_methods_supported ?? [],
    );
    // The longer-lived first: with it, many take back the other one, too.
    for (const [hint, token] of [
      ["refresh_token", tokens.refresh_token],
      ["access_token", tokens.access_token],
    ] as const) {
      if (token === undefined) continue;
      const body = new URLSearchParams({ token, token_type_hint: hint });
      const headers = new Headers({ accept: "application/json" });
      if (me.signed) await me.signed(headers, body, endpoint, metadata);
      else if (method === "client_secret_basic")
        headers.set(
          "authorization",
          `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(us.client_secret ?? "")}`).toString("base64")}`,
        );
      else {
        body.set("client_id", id);
        if (method === "client_secret_post") body.set("client_secret", us.client_secret ?? "");
      }
      headers.set("content-type", "application/x-www-form-urlencoded");
      const response = await fetch(endpoint, { method: "POST", headers, body });
      await response.body?.cancel();
      if (!response.ok) return false;
    }
    return true;
  });
}
