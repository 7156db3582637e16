import { spawn } from "node:child_process";

/** Asks the desktop to open a link; says false when there is none to ask. */
export function openBrowser(url: string, env: NodeJS.ProcessEnv): boolean {
  const { platform } = process;
  if (platform === "linux" && !env["DISPLAY"] && !env["WAYLAND_DISPLAY"]) return false;
  const [program, ...args] =
    platform === "darwin"
      ? ["open"]
      : platform === "win32"
        ? ["cmd", "/c", "start", ""]
        : ["xdg-open"];
  const child = spawn(program ?? "", [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined); // the link is printed anyway
  child.unref();
  return true;
}
