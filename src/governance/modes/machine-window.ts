// The last readings of the machine, and what they are over the window of a sensor.
import type { SensorRule } from "../rules/governance.ts";
import type { MachineReading, MachineSensors } from "./machine.ts";

export interface Measured {
  readonly value: number;
  readonly over: boolean;
  readonly under: boolean;
}

export interface MachineWindow {
  sample(): Promise<void>;
  /** Over the threshold only when the whole window is. */
  measure(name: keyof MachineReading, rule: SensorRule): Measured;
}

export function createMachineWindow(
  machine: MachineSensors,
  { maxSamples, everyMs }: { readonly maxSamples: number; readonly everyMs: number },
): MachineWindow {
  const samples: Record<keyof MachineReading, number[]> = { cpu: [], memory: [], disk: [] };
  return {
    async sample() {
      const reading = await machine.read();
      for (const name of ["cpu", "memory", "disk"] as const) {
        const value = reading[name];
        if (value === null) continue;
        samples[name].push(value);
        if (samples[name].length > maxSamples) samples[name].shift();
      }
    },
    measure(name, rule) {
      const wanted = Math.min(
        maxSamples,
        Math.max(1, Math.ceil((rule.forSeconds * 1000) / everyMs)),
      );
      const window = samples[name].slice(-wanted);
      if (window.length === 0) return { value: 0, over: false, under: true };
      return {
        value: window.reduce((sum, value) => sum + value, 0) / window.length,
        over: window.length === wanted && Math.min(...window) >= rule.threshold,
        under: Math.max(...window) < rule.clearBelow,
      };
    },
  };
}
