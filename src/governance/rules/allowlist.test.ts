import { expect, test } from "vitest";
import { createAllowlist } from "./allowlist.ts";

const canonical = (name: string): string | null => (name === "system_echo" ? "system/echo" : null);

test("C6: unset and without the flag it is off; the flag alone refuses everything", () => {
  expect(createAllowlist({ whitelist: [], toolsPolicy: false }, canonical).state).toBe("off");
  const closed = createAllowlist({ whitelist: [], toolsPolicy: true }, canonical);
  expect([closed.state, closed.has("system/echo")]).toEqual(["on", false]);
});

test("R293: a list turns it on; names count in every spelling, prefixes do not", () => {
  const list = createAllowlist(
    { whitelist: ["system_echo", "file/read"], toolsPolicy: false },
    canonical,
  );
  expect(list.state).toBe("on");
  expect(["system/echo", "file/read", "file/rea", "system/echoes"].map(list.has)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("C6: only the literal * means all", () => {
  expect(createAllowlist({ whitelist: ["*"], toolsPolicy: true }, canonical).has("a/b")).toBe(true);
  expect(createAllowlist({ whitelist: ["a/*"], toolsPolicy: true }, canonical).has("a/b")).toBe(
    false,
  );
});
