// The control to doors.test.ts: with one stage taken out, and nothing else changed, the call that it refused runs. A
// stage whose absence nobody notices would prove nothing.
import { afterAll, beforeAll, expect, test } from "vitest";
import { EXECUTE, type Stage } from "../../src/core/gate/index.ts";
import { openHouse, type House, type Refusal } from "../fixtures/refusals.ts";

let house: House;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house.close());

const run = async ({ on, key, call }: Refusal) =>
  on.app.engine.execute(await on.callerOf(key), {
    name: call.name,
    arguments: call.args as Record<string, never>,
    entry: "rest",
  });

/** The very list the engine walks, for a moment without these. */
async function without<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
  const stages = EXECUTE as Stage[];
  const all = [...stages];
  stages.splice(0, all.length, ...all.filter(({ name }) => !names.includes(name)));
  try {
    return await work();
  } finally {
    stages.splice(0, stages.length, ...all);
  }
}

test("threats 1.2: each refusal is its own stage's, and gone with it", async () => {
  const refusals = [
    ...Object.values(house.hidden),
    ...Object.values(house.refused),
    await house.held(),
  ];
  expect(new Set(refusals.map(({ stage }) => stage))).toEqual(
    new Set(EXECUTE.map(({ name }) => name)),
  );
  const ran: string[] = [];
  for (const refusal of refusals) {
    const before = house.entered.length;
    const refused = await run(refusal);
    expect([refusal.stage, refused.success, house.entered.length]).toEqual([
      refusal.stage,
      false,
      before,
    ]);
    const off = [refusal.stage, ...(refusal.also ? [refusal.also] : [])];
    const passed = await without(off, () => run(refusal));
    const second = refusal.runnerToo === true;
    expect([refusal.stage, passed.dispatched, passed.success]).toEqual([
      refusal.stage,
      true,
      !second,
    ]);
    expect(house.entered).toHaveLength(before + (second ? 0 : 1));
    ran.push(refusal.stage);
  }
  console.log(
    `refused 0 of ${refusals.length} ran; without their stage ${ran.length} of ${refusals.length} reached the runner`,
  );
});
