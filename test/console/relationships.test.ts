// Relationships: written, removed, checked, looked up, drawn, imported and exported.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePlayground } from "../../src/governance/relations/playground.ts";
import { type ConsoleHouse, NO_BROWSER, PHONE, startConsole } from "../fixtures/console-browser.ts";

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "the relationships page", () => {
  let house: ConsoleHouse;
  beforeAll(async () => {
    house = await startConsole();
    for (const id of ["ada", "bob"])
      await house.app.api("POST", "/users", { body: { id, name: id } });
    await house.app.api("POST", "/relationships", {
      body: {
        changes: [
          { relationship: "group:eng#member@user:ada" },
          { relationship: "tool:shell/exec#executor@group:eng#member" },
        ],
      },
    });
  });
  afterAll(() => house.close());

  const holds = async (resource: string, subject: string): Promise<string> => {
    const { body } = await house.app.api("POST", "/relationships/check", {
      body: { resource, permission: "member", subject },
    });
    return body.has as string;
  };

  test("one is written and removed by hand, and the removal is taken back", async () => {
    const { page, visit, faults, axe } = await house.open();
    await visit("/relationships?resource=group");
    await page.getByRole("table", { name: "Relationships" }).waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Add a relationship" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Resource").fill("group:eng");
    await dialog.getByLabel("Relation", { exact: true }).fill("member");
    await dialog.getByLabel("Subject").fill("user:bob");
    await page.keyboard.press("Enter");
    const remove = page.getByRole("button", { name: "Remove group:eng#member@user:bob" });
    await remove.waitFor();
    expect(await holds("group:eng", "user:bob")).toBe("yes");
    await remove.focus();
    await page.keyboard.press("Enter");
    await remove.waitFor({ state: "detached" });
    expect(await holds("group:eng", "user:bob")).toBe("no");
    await page.getByRole("button", { name: "Undo" }).first().click();
    await remove.waitFor();
    expect(await holds("group:eng", "user:bob")).toBe("yes");
    expect(faults()).toEqual([]);
  });

  test("a check says yes or no, and its tree opens groups", async () => {
    const { page, visit, faults, axe } = await house.open({ theme: "dark" });
    await visit("/relationships?tab=check");
    await page.getByLabel("Who").fill("user:ada");
    await page.getByLabel("May do").fill("execute");
    await page.getByLabel("To", { exact: true }).fill("tool:shell/exec");
    await page.keyboard.press("Enter");
    const tree = page.getByRole("list", { name: "Tree of the permission" });
    await tree.getByText("group:eng#member").first().waitFor();
    await tree.getByRole("button", { name: "who is that?" }).first().click();
    await tree.getByText("user:ada").first().waitFor();
    expect(new URL(page.url()).searchParams.get("who")).toBe("user:ada");
    expect(await axe()).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test("a look-up finds what somebody may do, and leads to why", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/relationships?tab=lookup&who=user:ada&permission=execute&type=tool");
    await page.getByRole("button", { name: "Why tool:shell/exec?" }).click();
    await page.getByRole("list", { name: "Tree of the permission" }).waitFor();
    expect(faults()).toEqual([]);
  });

  test("the graph has a twin in sentences", async () => {
    const { page, visit, faults, axe } = await house.open();
    await visit("/relationships?tab=graph&resource=group");
    await page.locator(".react-flow__node").first().waitFor();
    await page.getByText("The same as sentences").click();
    const sentences = page.getByRole("list", { name: "Relationships as sentences" });
    expect(await sentences.textContent()).toContain("user:ada is member of group:eng");
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "group:eng", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/resource=group%3Aeng$/);
    expect(faults()).toEqual([]);
  });

  test("an export is read by the command line, and an import writes what it holds", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/relationships");
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    const text = readFileSync(await saved.path(), "utf8");
    const { schema, relationships } = parsePlayground(text);
    expect(schema).toContain("definition tool");
    expect(relationships.length).toBeGreaterThan(80);

    await page.getByRole("button", { name: "Import" }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .getByLabel("or its text")
      .fill("schema: ''\nrelationships: |-\n  group:ops#member@user:ada\n");
    await dialog.getByText("1 relationships to write").waitFor();
    await dialog.getByRole("button", { name: "Import" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await holds("group:ops", "user:ada")).toBe("yes");
    expect(faults()).toEqual([]);
  });

  test("filters that fit nothing, cannot be read, or fail are three screens", async () => {
    const { page, visit, faults } = await house.open();
    await visit("/relationships?resource=group:nobody");
    await page.getByText("No relationship fits these filters").waitFor();
    await visit("/relationships?resource=Bad!");
    await page.getByText("expected a type or a thing").waitFor();
    expect(faults()).toEqual([]);
    const broken = await house.open({ failing: ["relationships.listRelationships"] });
    await broken.visit("/relationships");
    await broken.page.locator("[data-state=failed]").waitFor();
    expect(broken.faults()).toEqual([]);
  });

  test("fits on a phone", async () => {
    const { page, visit, faults } = await house.open({ viewport: PHONE });
    await visit("/relationships");
    await page.getByRole("table", { name: "Relationships" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(faults()).toEqual([]);
  });
});
