// Warnings of sensors, in the log and on record.
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Action } from "../../storage/store/store.ts";
import type { ModeLog } from "./mode-store.ts";
import type { SensorName, SensorStatus } from "./sensors.ts";

export interface WarningPowers {
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: JsonObject,
  ) => Promise<void>;
  /** The tenant under which warnings about the whole server are recorded. */
  readonly tenantId: string;
  readonly log: ModeLog;
}

export interface SensorWarnings {
  /** A sensor began to fire. */
  fires(sensor: SensorStatus): void;
  /** A caller is limited to `throttle` calls per minute because of this sensor. */
  throttles(caller: Caller, sensor: SensorName, count: number, throttle: number | null): void;
}

export function createSensorWarnings({ note, tenantId, log }: WarningPowers): SensorWarnings {
  // Nothing waits for the record: a warning that cannot be written must not delay the next sample.
  function record(tenant: string, sensor: SensorName, body: JsonObject): void {
    note("sensor.warning", { tenantId: tenant, userId: `sensor:${sensor}` }, body).catch(
      (cause: unknown) => log.error({ err: cause }, "a warning could not be recorded"),
    );
  }

  return {
    fires({ name, value, threshold, action }) {
      log.warn({ sensor: name, value, threshold, action }, "a sensor fires");
      record(tenantId, name, { sensor: name, value, threshold, action });
    },
    throttles(caller, sensor, count, throttle) {
      log.warn({ sensor, count, throttle, user: caller.userId }, "a caller is held to fewer calls");
      record(caller.tenantId, sensor, { sensor, value: count, user: caller.userId, throttle });
    },
  };
}
