// Each picture: where it is taken, and what must be on the page before.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { Demo } from "./demo.ts";

interface Picture {
  readonly name: string;
  readonly path: (demo: Demo) => string;
  readonly prepare: (page: Page) => Promise<void>;
}

const POLICY = join(import.meta.dirname, "../../governance/policies/tools.rego");

/** The starter policy, and no commands for agents. */
const stricter = (): string =>
  readFileSync(POLICY, "utf8").replace(
    "\tcaller_is_tool_user\n}",
    "\tcaller_is_tool_user\n\tnot command_of_agent\n}",
  ) + STRICTER;

const STRICTER = `
# METADATA
# title: Commands are for people
command_of_agent if {
	input.action == "execute"
	input.tool_name in {"shell/exec", "system/run_code"}
	input.user_id in {"claude-code", "deploy-bot"}
}

reasons contains "agents run no commands here" if command_of_agent`;

export const PICTURES: readonly Picture[] = [
  {
    name: "console-approval",
    path: ({ approvalId }) => `/approvals/${approvalId}`,
    async prepare(page) {
      await page.getByLabel("Difference to the last approved call").waitFor();
      await page.getByRole("heading", { name: /git push --force/ }).waitFor();
    },
  },
  {
    name: "console-explain",
    path: ({ refusedId }) => `/x/${refusedId}`,
    async prepare(page) {
      await page.getByRole("link", { name: "What would it say now?" }).click();
      await page.getByLabel("rule text", { exact: true }).waitFor();
      await page.getByText("Add an item").waitFor();
      await page.getByRole("heading", { name: "What would have to change" }).waitFor();
    },
  },
  {
    name: "console-execution",
    path: ({ programId }) => `/executions/${programId}`,
    async prepare(page) {
      await page.getByRole("table", { name: "Executions of the trace over time" }).waitFor();
    },
  },
  {
    name: "console-policy-replay",
    path: () => "/policies?panel=replay",
    async prepare(page) {
      await page.getByLabel("Text of tools.rego").click();
      await page.keyboard.press("Control+a");
      // As pasting does: typing would indent and close brackets by itself.
      await page.evaluate(`{
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", ${JSON.stringify(stricter())});
        document.activeElement.dispatchEvent(
          new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
        );
      }`);
      await page.getByRole("button", { name: "Replay this draft" }).click();
      await page.getByText(/recent calls would change/).waitFor();
    },
  },
  {
    name: "console-tools",
    path: () => "/tools?as=deploy-bot&category=file",
    async prepare(page) {
      await page.getByText("Seen as deploy-bot").waitFor();
      await page.getByRole("table", { name: "Tools" }).waitFor();
    },
  },
];
