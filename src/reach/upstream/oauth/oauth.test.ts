// Logins against a real identity provider (oidc-provider) with a real MCP server behind it, over the product's own
// connections.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  behindLogin,
  openHouse,
  type CredentialHouse,
} from "../../../../test/fixtures/credentials.ts";
import { startIdp, type Idp, type IdpOptions } from "../../../../test/fixtures/idp.ts";
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import type { OpenedCredentials } from "../credentials/credentials.ts";
import { UpstreamFault } from "../upstream.ts";
import { addressesAt, clientDocument } from "./index.ts";

const LIMIT_MS = 60_000;

describe("a login at an upstream server", { timeout: LIMIT_MS }, () => {
  let idp: Idp;
  let house: CredentialHouse;
  let row: ServerRow;

  beforeEach(async () => {
    await begin();
  });
  afterEach(async () => {
    await house.close();
    await idp.close();
  });

  async function begin(
    options: IdpOptions = {},
    credentials: "shared" | "user" = "shared",
  ): Promise<void> {
    idp = await startIdp(options);
    house = await openHouse();
    row = behindLogin(idp.mcpUrl, credentials);
  }
  const serverOf = (name: string): Promise<ServerRow | null> =>
    Promise.resolve(name === row.name ? row : null);
  const logIn = async (
    userId: string,
    by: OpenedCredentials = house.credentials,
  ): Promise<void> => {
    const back = await idp.browse(await by.logins.begin(row, userId));
    await by.logins.finish(
      await by.logins.begun(back.searchParams.get("state") ?? "", serverOf),
      back.searchParams,
    );
  };
  const whoami = async (
    userId: string,
    by: OpenedCredentials = house.credentials,
  ): Promise<string> => {
    const connection = await house.connect(row, await by.of(row, userId));
    try {
      const result = await connection.request(
        "tools/call",
        { name: "whoami", arguments: {} },
        { signal: AbortSignal.timeout(30_000), timeoutMs: 30_000 },
      );
      return (result["content"] as { text: string }[])[0]?.text ?? "";
    } finally {
      await connection.close();
    }
  };
  const reasonOf = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work;
      return "nothing";
    } catch (cause) {
      if (cause instanceof AppError) return `${cause.code} ${cause.fault.reason}: ${cause.message}`;
      if (cause instanceof UpstreamFault) return `${cause.kind}: ${cause.message}`;
      return `unexpected ${String(cause)}`;
    }
  };

  test("without one the server is not asked; after one it is called", async () => {
    expect(await reasonOf(house.credentials.of(row, "bob"))).toMatch(
      /^UNAUTHORIZED upstream_login/,
    );
    expect(idp.heard).toEqual([]);
    await logIn("owner");
    expect(await whoami("bob")).toBe("alice");
    expect(idp.tokenRequests).toEqual(["authorization_code"]);
  });

  test("T49: what it gave is sealed at rest, opens after a restart, and is known to the masker", async () => {
    await logIn("owner");
    await whoami("bob");
    const token = idp.taken.at(-1)?.token ?? "";
    expect(token.length).toBeGreaterThan(20);
    expect(filesWith(house.folder, token)).toEqual([]);
    expect(filesWith(house.folder, "oauth ")).not.toEqual([]);
    expect(house.masker.shownText(`it said ${token}`)).not.toContain(token);
    expect(await whoami("bob", house.again())).toBe("alice");
  });

  test("it is renewed before it ends, once for all who ask", async () => {
    await logIn("owner");
    house.aheadMs = 590_000;
    const credential = await house.credentials.of(row, "bob");
    const headers = await Promise.all(Array.from({ length: 20 }, async () => credential.headers()));
    expect(new Set(headers.map((one) => one["authorization"])).size).toBe(1);
    expect(idp.tokenRequests).toEqual(["authorization_code", "refresh_token"]);
    expect(await whoami("bob")).toBe("alice");
  });

  test("a token that ended early is renewed by calls that meet the refusal, one after the other", async () => {
    await logIn("owner");
    await whoami("bob");
    await idp.revoke("alice", "access");
    expect(await Promise.all([whoami("bob"), whoami("eve"), whoami("mia")])).toEqual([
      "alice",
      "alice",
      "alice",
    ]);
    expect(await whoami("bob")).toBe("alice");
  });

  test("revoked there, a login is needed again, and helps", async () => {
    await logIn("owner");
    await whoami("bob");
    await idp.revoke("alice", "all");
    expect(await reasonOf(whoami("bob"))).toMatch(/^unauthorized: Server upstream wants a login/);
    expect(await reasonOf(house.credentials.of(row, "bob"))).toMatch(
      /^UNAUTHORIZED upstream_login/,
    );
    await logIn("owner");
    expect(await whoami("bob")).toBe("alice");
  });

  test("a new login makes a new connection, a renewal does not", async () => {
    await logIn("owner");
    const first = await house.credentials.of(row, "bob");
    house.aheadMs = 590_000;
    await first.headers();
    expect((await house.credentials.of(row, "bob")).id).toBe(first.id);
    await logIn("owner");
    expect((await house.credentials.of(row, "bob")).id).not.toBe(first.id);
    expect(first.id).toMatch(/^shared [0-9a-f]{12}$/);
  });

  test("more rights are asked for when the server wants them", async () => {
    await logIn("owner");
    await whoami("bob");
    idp.scope = "mcp:read mcp:write";
    expect(await reasonOf(whoami("bob"))).toMatch(/wants a login.*more rights now: .*mcp:write/);
    const url = await house.credentials.logins.begin(row, "owner");
    expect(url.searchParams.get("scope")?.split(" ")).toEqual(
      expect.arrayContaining(["mcp:read", "mcp:write"]),
    );
    await logIn("owner");
    expect(await whoami("bob")).toBe("alice");
    expect(idp.taken.at(-1)?.scope).toContain("mcp:write");
  });

  describe("that is given up", () => {
    const asked = async (token: string): Promise<number> =>
      (
        await fetch(idp.mcpUrl, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: "{}",
        })
      ).status;

    test("its tokens are of no use any more, at the authorization server either", async () => {
      await logIn("owner");
      await whoami("owner");
      const token = idp.taken.at(-1)?.token ?? "";
      expect(await asked(token)).not.toBe(401);
      expect(await house.credentials.logins.logout(row, "owner")).toEqual({ revoked: true });
      expect(await asked(token)).toBe(401);
      expect(await house.credentials.logins.logout(row, "owner")).toBeNull();
    });

    test("is forgotten all the same when the authorization server takes nothing back", async () => {
      await logIn("owner");
      idp.metadata.set("revocation_endpoint", "http://elsewhere.example.org/revoke");
      expect(await house.credentials.logins.logout(row, "owner")).toEqual({ revoked: false });
      expect(await reasonOf(house.credentials.of(row, "owner"))).toMatch(
        /^UNAUTHORIZED upstream_login/,
      );
    });
  });

  describe("of each user", () => {
    beforeEach(() => {
      row = behindLogin(idp.mcpUrl, "user");
    });

    test("T20: the token of one is never used for another", async () => {
      idp.person = "alice";
      await logIn("ann");
      expect(await reasonOf(house.credentials.of(row, "ben"))).toMatch(
        /^UNAUTHORIZED upstream_login/,
      );
      idp.person = "bertram";
      await logIn("ben");
      expect(await Promise.all([whoami("ann"), whoami("ben"), whoami("ann")])).toEqual([
        "alice",
        "bertram",
        "alice",
      ]);
      const ids = await Promise.all(
        ["ann", "ben"].map(async (user) => (await house.credentials.of(row, user)).id),
      );
      expect(ids[0]).toMatch(/^user:ann /);
      expect(ids[1]).toMatch(/^user:ben /);
      await house.credentials.logins.logout(row, "ann");
      expect(await reasonOf(house.credentials.of(row, "ann"))).toMatch(
        /^UNAUTHORIZED upstream_login/,
      );
      expect(await whoami("ben")).toBe("bertram");
    });

    test("T4: a state names who began, is used once, and is nobody else's text", async () => {
      const back = await idp.browse(await house.credentials.logins.begin(row, "ann"));
      const state = back.searchParams.get("state") ?? "";
      const login = await house.credentials.logins.begun(state, serverOf);
      expect([login.startedBy, login.owner.userId]).toEqual(["ann", "ann"]);
      const changed = `${state.slice(0, -2)}${state.endsWith("AA") ? "BB" : "AA"}`;
      expect(await reasonOf(house.credentials.logins.begun(changed, serverOf))).toMatch(
        /^BAD_REQUEST invalid_input: This login is not known/,
      );
      const both = await Promise.all([
        reasonOf(house.credentials.logins.finish(login, back.searchParams)),
        reasonOf(house.credentials.logins.finish(login, back.searchParams)),
      ]);
      expect(both.sort()).toEqual([expect.stringMatching(/^BAD_REQUEST/), "nothing"]);
      expect(await reasonOf(house.credentials.logins.begun(state, serverOf))).toMatch(
        /^BAD_REQUEST/,
      );
    });

    test("it runs out after ten minutes", async () => {
      const back = await idp.browse(await house.credentials.logins.begin(row, "ann"));
      house.aheadMs = 601_000;
      expect(
        await reasonOf(
          house.credentials.logins.begun(back.searchParams.get("state") ?? "", serverOf),
        ),
      ).toMatch(/^BAD_REQUEST/);
    });
  });

  test("T5: with the wrong issuer, or none where one was promised, the code goes nowhere", async () => {
    for (const iss of ["https://evil.example", `${idp.issuer}/`, idp.issuer.toUpperCase(), null]) {
      const back = await idp.browse(await house.credentials.logins.begin(row, "owner"));
      if (iss === null) back.searchParams.delete("iss");
      else back.searchParams.set("iss", iss);
      const login = await house.credentials.logins.begun(
        back.searchParams.get("state") ?? "",
        serverOf,
      );
      expect([
        iss,
        await reasonOf(house.credentials.logins.finish(login, back.searchParams)),
      ]).toEqual([iss, expect.stringMatching(/^EXECUTION_FAILED upstream_protocol/)]);
    }
    expect(idp.tokenRequests).toEqual([]);
    await logIn("owner");
    expect(await whoami("bob")).toBe("alice");
  });

  test("a refusal of the person is told, and nothing is stored", async () => {
    const url = await house.credentials.logins.begin(row, "owner");
    const login = await house.credentials.logins.begun(
      url.searchParams.get("state") ?? "",
      serverOf,
    );
    const answer = new URLSearchParams({
      error: "access_denied",
      error_description: "no\u202e way",
      iss: idp.issuer,
    });
    expect(await reasonOf(house.credentials.logins.finish(login, answer))).toContain(
      "access_denied no\\u{202e} way",
    );
    expect(await reasonOf(house.credentials.of(row, "bob"))).toMatch(
      /^UNAUTHORIZED upstream_login/,
    );
  });

  test("without PKCE nobody is sent there", async () => {
    for (const methods of [undefined, [], ["plain"]]) {
      idp.metadata.set("code_challenge_methods_supported", methods);
      expect([methods, await reasonOf(house.credentials.logins.begin(row, "owner"))]).toEqual([
        methods,
        expect.stringContaining("PKCE"),
      ]);
    }
    idp.metadata.clear();
    await logIn("owner");
    expect(await whoami("bob")).toBe("alice");
  });
});

describe("a client that the authorization server knows already", { timeout: LIMIT_MS }, () => {
  test("logs people in with its own id and secret, and shows them to nobody else", async () => {
    const redirect = "http://127.0.0.1:3100/oauth/callback";
    const client = {
      client_id: "house",
      client_secret: "a secret of the house",
      redirect_uris: [redirect],
      token_endpoint_auth_method: "client_secret_basic",
      application_type: "native",
    };
    const idp = await startIdp({ clients: [client], registration: false });
    const house = await openHouse();
    try {
      const row: ServerRow = {
        ...behindLogin(idp.mcpUrl),
        transport: {
          kind: "http",
          url: idp.mcpUrl,
          headers: {},
          auth: "oauth",
          oauth: { clientId: "house", clientSecret: "${credential:IDP}" },
        },
      };
      await expect(house.credentials.logins.begin(row, "owner")).rejects.toThrow(
        /needs the credential IDP/,
      );
      await house.credentials.put(row, "", "IDP", "a secret of the house");
      const back = await idp.browse(await house.credentials.logins.begin(row, "owner"));
      await house.credentials.logins.finish(
        await house.credentials.logins.begun(back.searchParams.get("state") ?? "", () =>
          Promise.resolve(row),
        ),
        back.searchParams,
      );
      expect((await house.credentials.of(row, "bob")).id).toMatch(/^shared /);
      const other = await startIdp({ registration: true });
      const moved: ServerRow = {
        ...row,
        transport: { ...row.transport, url: other.mcpUrl } as ServerRow["transport"],
      };
      await expect(house.credentials.logins.begin(moved, "owner")).rejects.toThrow(
        /our client id belongs to/,
      );
      expect(other.tokenRequests).toEqual([]);
      await other.close();
    } finally {
      await house.close();
      await idp.close();
    }
  });

  test("reaches a server as itself, with nobody logging in", async () => {
    const client = {
      client_id: "house",
      client_secret: "a secret of the house",
      redirect_uris: [],
      response_types: [],
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "client_secret_basic",
      scope: "mcp:read",
    };
    const idp = await startIdp({ clients: [client], registration: false });
    const house = await openHouse();
    try {
      const row: ServerRow = {
        ...behindLogin(idp.mcpUrl),
        transport: {
          kind: "http",
          url: idp.mcpUrl,
          headers: {},
          auth: "oauth",
          oauth: {
            grant: "client_credentials",
            clientId: "house",
            clientSecret: "${credential:IDP}",
            issuer: idp.issuer,
            scope: "mcp:read",
          },
        },
      };
      await house.credentials.put(row, "", "IDP", "a secret of the house");
      const connection = await house.connect(row, await house.credentials.of(row, "bob"));
      const result = await connection.request(
        "tools/call",
        { name: "whoami", arguments: {} },
        { signal: AbortSignal.timeout(30_000), timeoutMs: 30_000 },
      );
      expect(JSON.stringify(result)).toContain("client house");
      await connection.close();
      await expect(house.credentials.logins.begin(row, "owner")).rejects.toThrow(/nobody logs in/);
    } finally {
      await house.close();
      await idp.close();
    }
  });
});

test("authorization servers can read who we are only where our address is a public one with TLS", () => {
  const at = (base: string) => {
    const { redirectUrl, documentUrl } = addressesAt(() => base);
    return [redirectUrl(), documentUrl()];
  };
  expect(at("https://gate.example.org")).toEqual([
    "https://gate.example.org/oauth/callback",
    "https://gate.example.org/oauth/client.json",
  ]);
  for (const base of [
    "http://gate.example.org",
    "https://localhost:3100",
    "https://127.0.0.1",
    "https://[::1]",
    "https://10.0.0.7:8443",
    "",
  ])
    expect([base, at(base)[1]]).toEqual([base, null]);
  const document = clientDocument(
    "https://gate.example.org/oauth/client.json",
    "https://gate.example.org/oauth/callback",
  );
  expect(document).toMatchObject({
    client_id: "https://gate.example.org/oauth/client.json",
    redirect_uris: ["https://gate.example.org/oauth/callback"],
    token_endpoint_auth_method: "none",
  });
});

test(
  "before there is an address a login is used, and none can be begun",
  { timeout: LIMIT_MS },
  async () => {
    const house = await openHouse({ redirectUrl: "/oauth/callback" });
    try {
      await expect(
        house.credentials.logins.begin(behindLogin("http://127.0.0.1:9/mcp"), "owner"),
      ).rejects.toThrow(/has no address/);
    } finally {
      await house.close();
    }
  },
);

/** Files of a folder that hold a text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}
