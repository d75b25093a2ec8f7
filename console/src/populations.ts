// Populations, of what the API says of devices, jobs and budgets. No page and no request.
import type { Json } from "./api";

export type Population = { name: string; waiting: number; enrolled: number | null; jobs: Json[]; budget: Json | null };  // enrolled: null where the caller may not see devices

const kDefault = "default";

// Each that a job, a budget or a device has, by name. `devices`: null where the caller may not see them.
export function populations(jobs: Json[], waiting: Record<string, number>, budgets: Json[], devices: Json[] | null): Population[] {
  const found = new Map<string, Population>();
  const of = (name: string): Population => {
    if (!found.has(name)) found.set(name, { name, waiting: 0, enrolled: devices && 0, jobs: [], budget: null });
    return found.get(name)!;
  };
  for (const job of jobs) of(job.spec?.population ?? kDefault).jobs.push(job);
  for (const [name, count] of Object.entries(waiting)) of(name).waiting = count;
  for (const budget of budgets) of(budget.population).budget = budget;
  for (const device of devices ?? []) if (!device.revoked) of(device.population).enrolled!++;
  return [...found.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}
