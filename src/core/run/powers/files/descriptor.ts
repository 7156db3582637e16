// Paths to an opened file that do not pass its parent folders again, where the system has them.
import { constants, existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

export const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
export const FOLDER_FLAGS = READ_FLAGS | constants.O_DIRECTORY;
export const CREATE_FLAGS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export function hasDescriptorPaths(): boolean {
  return process.platform === "linux" && existsSync("/proc/self/fd");
}

export function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** The path to an entry of an opened folder. */
export function pathOf(handle: FileHandle, path: string): string {
  return hasDescriptorPaths() ? descriptorPath(handle) : path;
}
