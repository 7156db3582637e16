#!/usr/bin/env node
// Old syntax only: an old Node must be able to read this file and say what it lacks.
var major = parseInt(process.versions.node, 10);
if (!(major >= 24)) {
  console.error("ostiary needs Node >= 24; this is " + process.version);
  process.exit(1);
}

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
