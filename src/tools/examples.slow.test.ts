// Chromium, interpreters, compilers, readers of documents: a program or more for each example.
import { exampleSuite } from "./examples.suite.ts";
import { NATIVE_TOOLS } from "./index.ts";

exampleSuite(NATIVE_TOOLS.filter((tool) => tool.requiresSandbox));
