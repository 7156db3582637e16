#!/usr/bin/env node
// Old syntax only: an old Node must be able to read this file and say what it lacks.
var major = parseInt(process.versions.node, 10);
if (!(major >= 24)) {
  console.error("ostiary needs Node >= 24; this is " + process.version);
  process.exit(1);
}

// Files, names and their checks share these threads; four would let slow disks and resolvers hold up the gate.
if (!process.env.UV_THREADPOOL_SIZE) process.env.UV_THREADPOOL_SIZE = "16";

import("node:fs")
  .then(function (fs) {
    var built = new URL("../dist/main.js", import.meta.url);
    return import(
      fs.existsSync(built) ? built.href : new URL("../src/main.ts", import.meta.url).href
    );
  })
  .catch(function (error) {
    console.error(error);
    process.exit(1);
  });
