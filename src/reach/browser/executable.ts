// Finds the Chromium of this machine. It is started in a box, so it must be a program itself and no wrapper script.
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { browserMissing, quoted } from "./faults.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];
/** Where the program is that a distribution's script of the same name starts. */
const PLACES = [
  "/usr/lib/chromium/chromium",
  "/usr/lib/chromium-browser/chromium-browser",
  "/usr/lib64/chromium-browser/chromium-browser",
  "/opt/google/chrome/chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
const FIX =
  "install Chromium (Debian: apt install chromium), or name one in the setting browser.executable";

export function findChromium(setting: string | undefined, path: string): string {
  if (setting !== undefined) {
    const program = isAbsolute(setting) ? programAt(setting) : null;
    if (program) return program;
    throw browserMissing(`browser.executable is ${quoted(setting)}, which is no program`, FIX);
  }
  const onPath = path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  for (const place of [...onPath, ...PLACES]) {
    const program = programAt(place);
    if (program) return program;
  }
  throw browserMissing("no Chromium was found on this machine", FIX);
}

/** Null for what is absent, not executable, a folder or a script. */
function programAt(place: string): string | null {
  try {
    const real = realpathSync(place);
    accessSync(real, constants.X_OK);
    return statSync(real).isFile() && !isScript(real) ? real : null;
  } catch {
    return null;
  }
}

function isScript(file: string): boolean {
  const descriptor = openSync(file, "r");
  try {
    const start = Buffer.alloc(2);
    readSync(descriptor, start, 0, 2, 0);
    return start.toString("latin1") === "#!";
  } finally {
    closeSync(descriptor);
  }
}
