// Whose workflows, runs or schedules, and which page of them.
import { z } from "zod";

export const id = z.string().min(1).max(128);
export const userId = z
  .string()
  .min(1)
  .max(64)
  .optional()
  .describe("Whose, for administrators; `*`: everybody's. Absent: your own");
export const limit = z.int().min(1).max(100).default(50);
export const offset = z.int().min(0).max(1_000_000).default(0);

export const query = ({
  userId: whose,
  ...page
}: {
  userId?: string | undefined;
  limit: number;
  offset: number;
}) => ({ ...page, ...(whose === undefined ? {} : { userId: whose }) });
