// A run as an item of the work port.
import type { WorkItem } from "../../../work/work.ts";

export const RUN_ITEM = "workflow_run";
export const runItem = (id: string): WorkItem => ({ kind: RUN_ITEM, id });
