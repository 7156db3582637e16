// Where copies of files are made for a preview, and what an earlier process left there.
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";

const NAME = "previews";

/** Made with its first use; nobody else may look into it. */
export const previewFolder = (dataDir: string) => async (): Promise<string> => {
  const folder = join(dataDir, NAME);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
};

export const sweepPreviews = (dataDir: string): Promise<void> =>
  rm(join(dataDir, NAME), { recursive: true, force: true });
