// Graphics processors: NVIDIA's from nvidia-smi, the others from the kernel.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { GpuFigures, HostMetrics } from "../../../../contract/powers/host.ts";
import { readProgram, type Machine } from "./machine.ts";

type Found = Pick<HostMetrics, "gpu" | "gpuReason">;

const FIELDS = ["name", "utilization.gpu", "memory.total", "memory.used", "temperature.gpu"];
const NVIDIA_SMI = [`--query-gpu=${FIELDS.join(",")}`, "--format=csv,noheader,nounits"];
const LIMIT_MS = 3_000;
const MAX_BYTES = 65_536;
const MIB = 1_048_576;
const NVIDIA = "0x10de";
const VENDORS: Readonly<Record<string, string>> = {
  "0x1002": "AMD",
  "0x8086": "Intel",
  [NVIDIA]: "NVIDIA",
};

export async function gpuFigures(machine: Machine, signal: AbortSignal): Promise<Found> {
  const [nvidia, cards] = await Promise.all([fromNvidiaSmi(machine, signal), fromKernel(machine)]);
  // The kernel lists NVIDIA's cards too, without figures.
  const others = cards.filter(({ vendor }) => nvidia.found.length === 0 || vendor !== NVIDIA);
  const gpu = [...nvidia.found, ...others.map(({ figures }) => figures)];
  if (gpu.length > 0) return { gpu };
  const gpuReason = `no graphics processor found: ${nvidia.why}, and the kernel lists none`;
  return { gpu: null, gpuReason };
}

async function fromNvidiaSmi(
  machine: Machine,
  signal: AbortSignal,
): Promise<{ found: GpuFigures[]; why: string }> {
  const lines: string[] = [];
  const onLine = (line: string): boolean => lines.push(line) > 0;
  const reading = {
    program: "nvidia-smi",
    args: NVIDIA_SMI,
    limitMs: LIMIT_MS,
    maxBytes: MAX_BYTES,
    onLine,
  };
  const { why, code, errors } = await readProgram(machine, reading, signal);
  if (why === "absent") return { found: [], why: "nvidia-smi is not installed" };
  if (why !== "ended")
    return { found: [], why: `nvidia-smi took longer than ${LIMIT_MS / 1_000} s` };
  const found = code === 0 ? lines.flatMap(deviceOf) : [];
  const output = [...lines, errors].find((text) => text.trim() !== "") ?? "nothing";
  return { found, why: `nvidia-smi says: ${output.trim().slice(0, 200)}` };
}

function deviceOf(line: string): GpuFigures[] {
  const [name, load, total, used, temperature] = line.split(",").map((field) => field.trim());
  if (!name || temperature === undefined) return [];
  const [totalMib, usedMib] = [numberOf(total), numberOf(used)];
  const memory =
    totalMib === null || usedMib === null ? null : share(totalMib * MIB, usedMib * MIB);
  return [{ name, loadPercent: numberOf(load), memory, temperatureC: numberOf(temperature) }];
}

/** Only cards of a known maker, or with a figure: the display adapter of a virtual machine is neither. */
async function fromKernel({ sysfs }: Machine): Promise<{ vendor: string; figures: GpuFigures }[]> {
  const drm = join(sysfs, "class/drm");
  const names = await readdir(drm).catch(() => []);
  const cards = names.filter((name) => /^card\d+$/.test(name)).toSorted();
  const found = await Promise.all(cards.map((card) => cardOf(join(drm, card, "device"))));
  return found.filter(({ vendor, figures: { loadPercent, memory } }) => {
    return Object.hasOwn(VENDORS, vendor) || loadPercent !== null || memory !== null;
  });
}

async function cardOf(device: string): Promise<{ vendor: string; figures: GpuFigures }> {
  const [vendor, id, product, load, total, used, temperature] = await Promise.all([
    fileIn(device, "vendor"),
    fileIn(device, "device"),
    fileIn(device, "product_name"),
    fileIn(device, "gpu_busy_percent"),
    fileIn(device, "mem_info_vram_total"),
    fileIn(device, "mem_info_vram_used"),
    temperatureIn(device),
  ]);
  const [totalBytes, usedBytes] = [numberOf(total), numberOf(used)];
  const maker = VENDORS[vendor ?? ""] ?? "graphics processor";
  const figures: GpuFigures = {
    name: product || [maker, id].filter(Boolean).join(" "),
    loadPercent: numberOf(load),
    memory: totalBytes === null || usedBytes === null ? null : share(totalBytes, usedBytes),
    temperatureC: temperature,
  };
  return { vendor: vendor ?? "", figures };
}

async function temperatureIn(device: string): Promise<number | null> {
  const folder = join(device, "hwmon");
  const [sensor] = (await readdir(folder).catch(() => [])).toSorted();
  if (sensor === undefined) return null;
  const thousandths = numberOf((await fileIn(join(folder, sensor), "temp1_input")) ?? undefined);
  return thousandths === null ? null : thousandths / 1_000;
}

/** Null where the driver has no figure, or none now: a card in power saving answers with an error. */
async function fileIn(folder: string, name: string): Promise<string | null> {
  const text = await readFile(join(folder, name), "utf8").catch(() => null);
  return text === null ? null : text.trim().slice(0, 200);
}

function numberOf(text: string | null | undefined): number | null {
  return text != null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

function share(total: number, used: number): { total: number; used: number; percent: number } {
  return { total, used, percent: total > 0 ? Math.round((used / total) * 1_000) / 10 : 0 };
}
