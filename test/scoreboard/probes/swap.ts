// A folder is swapped for a link out of the workspace while a file below it is read and written.
import { spawn } from "node:child_process";
import { chownSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openCount, type Probe } from "../figure.ts";
import { UNLIMITED } from "./shared.ts";

const TRIES = 10_000;
const AT_ONCE = 16;
const SECRET = "what lies outside of the workspace";
/** Puts the link in the folder's place and back, as fast as it can. */
const SWAPPER = `const fs = require("node:fs"); const [from, aside, to] = process.argv.slice(1);
for (;;) { try { fs.renameSync(from, aside); fs.symlinkSync(to, from); for (let i = 0; i < 2000; i++); fs.unlinkSync(from); fs.renameSync(aside, from); for (let i = 0; i < 2000; i++); } catch {} }`;

const probe: Probe = async ({ open }) => {
  const target = await open(UNLIMITED);
  const { uid, gid } = statSync(target.workspace);
  const outside = join(dirname(target.workspace), "outside");
  const inside = join(target.workspace, "folder");
  for (const folder of [outside, inside]) {
    mkdirSync(folder);
    chownSync(folder, uid, gid);
  }
  for (const [file, text] of [
    [join(outside, "file.txt"), SECRET],
    [join(inside, "file.txt"), "inside"],
  ] as const) {
    writeFileSync(file, text);
    chownSync(file, uid, gid);
  }
  const count = openCount("reads");
  const plain = await target.call("file/read", { path: "folder/file.txt" });
  count.control(
    JSON.stringify(plain.body).includes("inside"),
    `the file cannot be read before: ${JSON.stringify(plain.body)}`,
  );
  const swapper = spawn(
    process.execPath,
    ["-e", SWAPPER, inside, join(target.workspace, "aside"), outside],
    { stdio: "ignore" },
  );
  let left = TRIES;
  let legal = 0;
  try {
    const reader = async (): Promise<void> => {
      while (left-- > 0) {
        const { body } = await target.call("file/read", { path: "folder/file.txt" });
        const text = JSON.stringify(body);
        if (text.includes('"inside"') || text.includes("inside\\n") || body?.success === true)
          legal++;
        count.add(text.includes(SECRET) ? "the file outside was read" : null);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, reader));
  } finally {
    swapper.kill("SIGKILL");
  }
  count.control(legal > 0, "no read during the race was served");
  return count.figure({ figures: `${legal} legal reads during the race` });
};
export default probe;
