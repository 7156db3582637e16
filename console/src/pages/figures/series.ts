import type { Outputs } from "../../api/client.ts";

export type Series = Outputs["metrics"]["getSeries"];
export type Bucket = Series["buckets"][number];
