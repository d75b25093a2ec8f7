// Of a round's trace: what some of its devices took their time with. No page and no request.
import type { Json } from "./api";

export type DeviceStep = { name: string; from: number; seconds: number };
export type DeviceTimes = { name: string; steps: DeviceStep[]; ended: number };  // ended: seconds after the attempt began
export const kDeviceSteps = ["downloads and trains", "uploads", "becomes durable"];
export const kUnended = ", and does not end";

// Of the attempt, the slowest first. The file is what GET .../trace gives: each attempt is a process, each device a thread of it.
export function device_times(file: Json, number: number, attempt: number): DeviceTimes[] {
  const events = Array.isArray(file.traceEvents) ? file.traceEvents as Json[] : [];
  const named = (kind: string) => events.filter((event) => event.ph === "M" && event.name === kind);
  const process = named("process_name").find((event) => event.args?.name === `round ${number}, attempt ${attempt}`)?.pid;
  const slices = events.filter((event) => event.ph === "X" && event.pid === process && Number.isFinite(event.ts) && Number.isFinite(event.dur));
  const begun = slices.find((event) => event.cat === "phase")?.ts ?? 0;
  return named("thread_name").filter((thread) => thread.pid === process).flatMap((thread): DeviceTimes[] => {
    const steps = slices.filter((event) => event.cat === "device" && event.tid === thread.tid)
      .map((event) => ({ name: String(event.name), from: (event.ts - begun) / 1e6, seconds: event.dur / 1e6 }));
    return steps.length === 0 ? [] : [{ name: String(thread.args?.name), steps, ended: Math.max(...steps.map((step) => step.from + step.seconds)) }];
  }).sort((a, b) => b.ended - a.ended);
}

// How much later than the middle one the slowest came; null: there are too few to say.
export function straggling(devices: DeviceTimes[]): { slowest: number; middle: number } | null {
  return devices.length < 3 ? null : { slowest: devices[0].ended, middle: devices[Math.floor(devices.length / 2)].ended };
}
