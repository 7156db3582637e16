// Every native tool, listed by hand: adding one is visibly a security change.
import echo from "./system/echo.ts";
import type { Tool } from "./tool.ts";

export const NATIVE_TOOLS: readonly Tool[] = [echo];
