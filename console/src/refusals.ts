// What was refused, of what a server says. No page and no request.
import type { Json } from "./api";

export type Refusal = { what: string; reason: string; times: number };

const kWhat: [string, string][] = [["requests", "a request"], ["checkins", "a check-in"], ["plans", "a plan, by the device"], ["held", "work, by the device"], ["updates", "an update"]];

// The most frequent first, of each kind.
export function refusals(server: Json): Refusal[] {
  return kWhat.flatMap(([key, what]) => Object.entries((server.refusals?.[key] ?? {}) as Record<string, number>)
    .map(([reason, times]) => ({ what, reason, times })).sort((a, b) => b.times - a.times || (a.reason < b.reason ? -1 : 1)));
}
