// B12: a program that fills the host's disk. The limit is small here, and no case writes much more than 100 MB.
import { existsSync } from "node:fs";
import type { Attack, Case } from "./attack.ts";
import { unhurried } from "./rules.ts";

const CLEAN = "find . -mindepth 1 -delete";
/** 8 pieces of 12 MB each; `$i` names the piece. */
const each = (step: string): string =>
  `i=0; while [ $i -lt 8 ]; do ${step}; sleep 0.2; i=$((i+1)); done; sleep 3`;
const ZEROS = "head -c 12000000 /dev/zero";

const filling = (name: string, text: string): Case => ({
  name,
  async run(target) {
    const { body } = await target.call("shell/script", { script: text });
    await target.asUser(["sh", "-c", CLEAN]);
    const said = JSON.stringify(body);
    return said.includes("it put more on the disk than a program may")
      ? null
      : `it was let: ${said.slice(0, 300)}`;
  },
});

const attack: Attack = {
  item: "B12",
  title: "what one program puts on the disk is bounded",
  settings: {
    governance: unhurried("open"),
    "sandbox.diskMb": "16",
    "sandbox.diskEntries": "1000",
  },
  skip: () => (existsSync("/usr/bin/bwrap") ? null : "there is no bubblewrap"),
  cases: [
    filling("many files", each(`${ZEROS} > f$i`)),
    filling("one file that grows", each(`${ZEROS} >> f`)),
    filling("files in folders far below", each(`mkdir -p a/$i/b/c; ${ZEROS} > a/$i/b/c/f`)),
    filling("hidden files", each(`${ZEROS} > .f$i`)),
    filling("a file without a name", `exec 9>gone; rm gone; ${each(`${ZEROS} >&9`)}`),
    filling(
      "children that nobody waits for",
      `trap '' CHLD; (${each(`${ZEROS} > f$i`)}) & sleep 8`,
    ),
    filling("many writers at once", each(`{ ${ZEROS} > f$i & }`)),
    filling("files renamed as they are written", each(`${ZEROS} > t; mv t f$i`)),
    filling("times set back", each(`${ZEROS} > f$i; touch -d 2001-01-01 f$i`)),
    filling(
      "a sparse file that is filled",
      `truncate -s 200M f; ${each(`${ZEROS} | dd of=f conv=notrunc bs=1M seek=$((i*20)) 2>/dev/null`)}`,
    ),
    filling(
      "many empty files",
      "mkdir m; i=0; while [ $i -lt 4000 ]; do : > m/$i; i=$((i+1)); done; sleep 5",
    ),
    filling(
      "many folders",
      "i=0; while [ $i -lt 50 ]; do mkdir $(seq -f d$i-%g 1 60); i=$((i+1)); done; sleep 5",
    ),
  ],
  control: {
    name: "a little is written, removed and written again",
    async run(target) {
      const { body } = await target.call("shell/script", {
        script: `i=0; while [ $i -lt 4 ]; do head -c 6000000 /dev/zero > f; rm f; i=$((i+1)); done; echo kept > k; echo done`,
      });
      await target.asUser(["sh", "-c", CLEAN]);
      return body?.result?.stdout === "done\n" ? null : JSON.stringify(body).slice(0, 300);
    },
  },
};
export default attack;
