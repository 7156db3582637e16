import type { App } from "../app/app.ts";
import type { LoadedConfig } from "../config/config.ts";

/** The app, with every file it makes readable by this user alone; files of tools keep the usual mask. */
export async function openApp({ config, origins, file, secretFiles }: LoadedConfig): Promise<App> {
  const { createApp } = await import("../app/app.ts");
  const before = process.umask(0o077);
  try {
    return await createApp(config, { origins, configFile: file, secretFiles });
  } finally {
    process.umask(before);
  }
}
