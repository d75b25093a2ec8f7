// What became of the devices of an attempt: who was left at each step, and who is missing and why. No page and no request.
import type { Json } from "./api";

export type Missing = { code: string; reason: string; devices: number; meaning: string };
export type Step = { name: string; devices: number; lost: Missing[] };  // lost: those who came to the step before, and not to this one

// The step that devices with a code did not come to. A code that is not here, of a later server, is of those who were not drawn.
const kStopsBefore: Record<string, string> = { unsupported: "waiting", resting: "waiting", other_round: "waiting", desk_full: "waiting", stopping: "waiting", unremembered: "waiting", ticket: "downloaded", joined: "downloaded", downloaded: "trained", plan_refused: "trained",
  uploading: "accepted", update_refused: "accepted", late: "accepted" };
const kSteps = ["waiting", "drawn", "downloaded", "trained", "accepted"];

// `codes` as GET .../rounds/N/why has them: each device that asked has one.
export function steps_of(codes: Json[]): Step[] {
  let left = codes.reduce((sum, one) => sum + one.devices, 0);
  const missing = missing_of(codes);
  return [{ name: "asked", devices: left, lost: [] }, ...kSteps.map((name): Step => {
    const lost = missing.filter(({ code }) => (kStopsBefore[code] ?? "drawn") === name);
    left -= lost.reduce((sum, one) => sum + one.devices, 0);
    return { name, devices: left, lost };
  })];
}

export const missing_of = (codes: Json[]): Missing[] => codes.filter((one) => one.code !== "counted")
  .map((one) => ({ code: one.code, reason: one.reason ?? "", devices: one.devices, meaning: one.meaning ?? "" }));

// Whether an address names this attempt, as "7" (any of round 7) or "7.2".
export function is_named(round: Json, name: string): boolean {
  const [number, attempt] = name.split(".").map(Number);
  return round.number === number && (attempt === undefined || round.attempt === attempt);
}
// The attempt that an address names (of "7" the newest); else the newest. `rounds` are newest first.
export const attempt_named = (rounds: Json[], name: string | undefined): Json | undefined => rounds.find((round) => is_named(round, name ?? "")) ?? rounds[0];
// The cursor behind which a list of attempts begins with the one that an address names; empty: it names none.
export function cursor_behind(name: string): string {
  const [, number, attempt] = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(name) ?? [];
  return !number ? "" : attempt ? `${number}.${Number(attempt) + 1}` : `${Number(number) + 1}.0`;
}
