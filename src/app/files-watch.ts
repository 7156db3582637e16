// Logs when a file of the data directory is lost and when it is back, also while there are no calls.
import { FILES_LOST_REMEDY, type WatchedFiles } from "../util/files/watched-files.ts";

interface Log {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export function filesWatch(files: Pick<WatchedFiles, "check">, log: Log): () => void {
  let isLost = false;
  return () => {
    const lost = files.check();
    if ((lost !== null) === isLost) return;
    isLost = lost !== null;
    if (lost)
      log.error(
        { file: lost.path, remedy: FILES_LOST_REMEDY },
        `${lost.message}: calls are refused`,
      );
    else log.info({}, "the files of the data directory are back: calls are taken again");
  };
}
