// The program: one command line in, one exit code out.
import { runCli } from "./cli/program.ts";

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});
