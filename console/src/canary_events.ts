// What an event says of a canary, put into what is known of all.
import type { Json } from "./api";

export const kWithCanaries = 20;  // jobs whose canaries are asked for

const parsed = (data: unknown): Json => { try { return JSON.parse(String(data)) ?? {}; } catch { return {}; } };
export const job_of = (data: unknown): string => String(parsed(data).job ?? "");

// `known` itself where the event is of no job in `jobs`, or cannot be read. A canary that is new comes first.
export function changed(known: Json[], jobs: string[], data: unknown): Json[] {
  const event = parsed(data);
  if (typeof event.canary !== "string" || !jobs.includes(event.job)) return known;
  const said = { state: event.state, heard: event.heard };
  const at = known.findIndex((one) => one.job === event.job && one.id === event.canary);
  if (at < 0) return [{ id: event.canary, job: event.job, version: event.model_version, ...said }, ...known];
  return known.map((one, i) => i === at ? { ...one, ...said } : one);
}
