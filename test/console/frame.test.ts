// What every page of the console shares.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, startConsole } from "../fixtures/console-browser.ts";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "the frame", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
  });
  afterAll(() => house.close());

  test("a sign-in link opens the first page and leaves no token in the address", async () => {
    const { page, faults, axe } = await house.open();
    await page.getByRole("heading", { name: "Home" }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    await page.getByText("live", { exact: true }).waitFor();
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test("every page of the rail opens by its key and by its address", async () => {
    const { page, faults, visit } = await house.open();
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    await links.first().waitFor();
    const paths = await links.evaluateAll((all) => all.map((a) => a.getAttribute("href") ?? ""));
    expect(paths.length).toBeGreaterThan(10);
    for (const path of paths) {
      await visit(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL("**/tools");
    expect(faults()).toEqual([]);
  });

  test("R300, C43: it asks the public API alone, through the typed client", async () => {
    const { page, visit, faults } = await house.open();
    const asked = new Set<string>();
    page.on("request", (request) => {
      const { origin, pathname } = new URL(request.url());
      asked.add(origin === house.app.url ? (pathname.split("/")[1] ?? "") : request.url());
    });
    for (const path of ["/", "/executions", "/approvals", "/tools", "/audit", "/people", "/chat"]) {
      await visit(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
    const pages = ["", "executions", "approvals", "tools", "audit", "people", "chat"];
    expect([...asked].filter((part) => !pages.includes(part)).toSorted()).toEqual(
      ["api", "console", "trpc"].filter((part) => asked.has(part)),
    );
    expect(asked).toContain("trpc");
    expect(faults()).toEqual([]);
  });

  test("R300: of the server's code the console takes types only, from the router", () => {
    const root = join(import.meta.dirname, "../../console/src");
    const imports = globSync("**/*.{ts,tsx}", { cwd: root }).flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/^.*from "[./]+\/src\/.*$/gm)].map(
        ([line]) => line,
      ),
    );
    expect(imports).toEqual(['import type { AppRouter } from "../../../src/server/trpc.ts";']);
  });

  test("a link works signed out: sign in, and the page that was asked for appears", async () => {
    const { page, visit, faults } = await house.open({ key: null });
    await visit("/executions?status=failed");
    await page.getByLabel("Your key").fill(house.app.adminKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Executions" }).waitFor();
    expect(new URL(page.url()).search).toBe("?status=failed");
    faults(); // the browser calls the 401 of the sign-in page an error
  });

  test("a page that cannot be loaded says so within the frame; the others stay in reach", async () => {
    const { page, visit, faults } = await house.open({ failing: ["/console/assets/page-"] });
    await visit("/tools");
    const main = page.getByRole("main");
    await main.locator("[data-state=failed]").getByRole("button", { name: "Try again" }).waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link").first().waitFor();
    faults(); // React names what it caught
  });
});
