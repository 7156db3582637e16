// `npm run test:faults`: what holds when the process dies or the disk does not take any more. OSTIARY_FAULT_RUNS
// changes how often it is killed (200); with fewer, Kafka is away for 15 seconds instead of two minutes. `-- --json
// file` also writes the results there.
import { parseArgs } from "node:util";
import { freshBundle } from "../../bench/bundle.ts";
import { kafkaDown } from "./kafka.ts";
import { killUnderLoad } from "./kill.ts";
import { openReport } from "./report.ts";
import { tornRecords } from "./torn.ts";
import { storeCannotWrite } from "./unwritable.ts";

const MOST = 1000;
const ALL_RUNS = 200;
const runs = Number(process.env["OSTIARY_FAULT_RUNS"] ?? ALL_RUNS);
if (!Number.isInteger(runs) || runs < 1 || runs > MOST) {
  console.error(`OSTIARY_FAULT_RUNS: expected a whole number from 1 to ${MOST}`);
  process.exit(2);
}
const why = freshBundle();
if (why !== null)
  throw new Error(`the bundle that would be killed is not that of the sources: ${why}`);
const report = openReport(parseArgs({ options: { json: { type: "string" } } }).values.json);
await storeCannotWrite(report);
await tornRecords(report);
await kafkaDown(report, { quick: runs < ALL_RUNS });
await killUnderLoad(runs, report);
process.exitCode = report.close();
