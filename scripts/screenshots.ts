// `npm run screenshots [-- <folder>] [-- --all]`: the pictures of the documentation, from a real server with demo data
// and a real Chromium. With --all each also in dark and on a phone, to be checked by eye.
import { mkdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import {
  type ConsoleHouse,
  DESK,
  NO_BROWSER,
  PHONE,
  startConsole,
} from "../test/fixtures/console-browser.ts";
import { type Demo, makeDemo } from "./screenshots/demo.ts";
import { PICTURES } from "./screenshots/pictures.ts";

const ROOT = join(import.meta.dirname, "..");
/** They are part of the package's documentation. */
const MOST_BYTES = 250_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: "boolean", default: false } },
});
const folder = join(ROOT, positionals[0] ?? "docs/images");

interface Look {
  readonly suffix: string;
  readonly theme: "light" | "dark";
  readonly viewport: typeof DESK;
}
const USUAL: Look = { suffix: "", theme: "light", viewport: DESK };
const OTHERS: readonly Look[] = [
  { suffix: "-dark", theme: "dark", viewport: DESK },
  { suffix: "-phone", theme: "light", viewport: PHONE },
  { suffix: "-phone-dark", theme: "dark", viewport: PHONE },
];

async function take(house: ConsoleHouse, demo: Demo, look: Look): Promise<void> {
  const { theme, viewport, suffix } = look;
  for (const { name, path, prepare } of PICTURES) {
    const { page, visit, faults, close } = await house.open({ theme, viewport });
    await visit(path(demo));
    await prepare(page);
    await page.mouse.move(0, 0);
    await page.getByText("live", { exact: true }).waitFor({ state: "attached" });
    const file = join(folder, `${name}${suffix}.png`);
    await page.screenshot({ path: file, animations: "disabled" });
    const complaints = faults();
    await close();
    if (complaints.length > 0) throw new Error(`${name}: ${complaints.join("\n")}`);
    const bytes = statSync(file).size;
    if (bytes > MOST_BYTES) throw new Error(`${name}${suffix}.png has ${bytes} bytes`);
    console.log(`${relative(ROOT, file)}  ${Math.ceil(bytes / 1000)} kB`);
  }
}

if (NO_BROWSER !== null) throw new Error(NO_BROWSER);
mkdirSync(folder, { recursive: true });
const house = await startConsole();
try {
  const demo = await makeDemo(house.app);
  for (const look of values.all ? [USUAL, ...OTHERS] : [USUAL]) await take(house, demo, look);
} finally {
  await house.close();
}
