import { openBubblewrap } from "./bubblewrap.ts";
import { findProgram } from "./bubblewrap/system.ts";
import { sandboxSuite } from "./sandbox.suite.ts";

const path = process.env["PATH"] ?? "";
const absent = findProgram("bwrap", path) === null ? "bubblewrap is not installed" : null;

sandboxSuite("bubblewrap", { open: (folder) => openBubblewrap({ folder, path }), absent });
