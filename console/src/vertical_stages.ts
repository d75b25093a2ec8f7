// The stages of a vertical job as bars of a timeline, of what the API says. No page and no request.
import type { Json } from "./api";

export type Bar = { stage: string; role: string; from: number; to: number; left: number; done: string; is_over: boolean; bytes: number };  // from, to, left: seconds

export const done_of = (one: Json): string => one.over ? "all" : typeof one.units_all === "number" ? `${one.units} of ${one.units_all}` : "begun";

// `from` and `to` are seconds behind the first word of any stage; `left` is what may still come, 0 where nobody can say.
export function bars(stages: Json[]): Bar[] {
  const known = stages.map((one) => ({ one, begun: Date.parse(one.begun), heard: Date.parse(one.heard) })).filter(({ begun, heard }) => Number.isFinite(begun) && heard >= begun);
  const first = Math.min(...known.map(({ begun }) => begun));
  return known.map(({ one, begun, heard }) => ({ stage: String(one.stage), role: String(one.role), from: (begun - first) / 1000, to: (heard - first) / 1000,
    left: typeof one.seconds_left === "number" ? one.seconds_left : 0,
    done: done_of(one), is_over: one.over === true, bytes: Number(one.sent_bytes) }));
}

// The last stage that a party has begun, in a word.
export function stage_now(stages: Json[]): string {
  const last = bars(stages).at(-1);
  return last ? `${last.stage}: ${last.done}` : "none";
}
