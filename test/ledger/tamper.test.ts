import { expect, test } from "vitest";
import { readCheckpoint } from "../../src/storage/ledger/rollback.ts";
import { MUTATIONS } from "./mutate.ts";
import { tamper } from "./tamper.ts";
import { openWorld, strangersKey, verified } from "./world.ts";

test(
  "T50: every change of an export is found, and no honest one is blamed",
  { timeout: 240_000 },
  async () => {
    const report = await tamper(300, 30, 7);
    expect(report.missed).toEqual([]);
    expect(report.falseAlarms).toEqual([]);
    expect(report.kinds.filter(({ tried }) => tried === 0).map(({ name }) => name)).toEqual([]);
  },
);

test("a forgery that is signed throughout holds together, so the key must be known", async () => {
  const world = await openWorld();
  try {
    await world.more(3);
    const original = await world.export({ tenantId: null, format: "ndjson" });
    const forge = MUTATIONS["a chain hashed anew, all signed by a stranger"]?.mutate;
    const stranger = strangersKey();
    const forged = forge?.(original, { random: () => 0, stranger, other: original });
    if (!forged) throw new Error("nothing was forged");
    expect(await verified(forged)).toMatchObject({
      ok: true,
      findings: { keyIds: [stranger.keyId] },
    });
    const pinned = await verified(forged, { keys: [world.app.app.ledger.publicKey] });
    expect(pinned).toMatchObject({ ok: false, fault: { line: 1, offset: 0 } });
    // What was kept outside before finds it without the key.
    const anchors = original
      .toString()
      .split("\n")
      .flatMap((line) => readCheckpoint(line) ?? []);
    expect(await verified(original, { anchors })).toMatchObject({
      ok: true,
      findings: { unanchored: 0 },
    });
    expect(await verified(forged, { anchors })).toMatchObject({ ok: false });
  } finally {
    await world.close();
  }
});
