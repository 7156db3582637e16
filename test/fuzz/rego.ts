// npm run fuzz:rego -- 100000 [first seed]
import { fuzz } from "./rego-mutations.ts";

const count = Number(process.argv[2] ?? "10000");
const report = fuzz(count, Number(process.argv[3] ?? "1"));
for (const problem of report.problems.slice(0, 10)) console.log(problem);
const { tried, compiled, refused, problems, slowestMs } = report;
console.log(
  `${String(tried)} tried, ${String(compiled)} compiled, ${String(refused)} refused, ` +
    `${String(problems.length)} problems, slowest ${slowestMs.toFixed(0)} ms`,
);
process.exitCode = problems.length > 0 ? 1 : 0;
