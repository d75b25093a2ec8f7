// What became of the devices of an attempt: who was left at each step, and who is missing and why. No page and no request.
import type { Json } from "./api";

export type Missing = { code: string; reason: string; devices: number; meaning: string };
export type Step = { name: string; devices: number; lost: Missing[] };  // lost: those who came to the step before, and not to this one

// The step that devices with a code did not come to. A code that is not here, of a later server, is of those who were not drawn.
const kStopsBefore: Record<string, string> = { ticket: "downloaded", joined: "downloaded", downloaded: "trained", plan_refused: "trained",
  uploading: "accepted", update_refused: "accepted", late: "accepted" };
const kSteps = ["drawn", "downloaded", "trained", "accepted"];

// `codes` as GET .../rounds/N/why has them: each device that asked has one.
export function steps_of(codes: Json[]): Step[] {
  let left = codes.reduce((sum, one) => sum + one.devices, 0);
  const missing = missing_of(codes);
  return [{ name: "asked", devices: left, lost: [] }, ...kSteps.map((name): Step => {
    const lost = missing.filter(({ code }) => (kStopsBefore[code] ?? kSteps[0]) === name);
    left -= lost.reduce((sum, one) => sum + one.devices, 0);
    return { name, devices: left, lost };
  })];
}

export const missing_of = (codes: Json[]): Missing[] => codes.filter((one) => one.code !== "counted")
  .map((one) => ({ code: one.code, reason: one.reason ?? "", devices: one.devices, meaning: one.meaning ?? "" }));

// The attempt that an address names, as "7" (the newest attempt of round 7) or "7.2"; else the newest. `rounds` are newest first.
export function attempt_named(rounds: Json[], name: string | undefined): Json | undefined {
  const [number, attempt] = (name ?? "").split(".").map(Number);
  return rounds.find((round) => round.number === number && (attempt === undefined || round.attempt === attempt)) ?? rounds[0];
}
