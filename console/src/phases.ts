// The phases of rounds' attempts, of what rounds and events say. No page and no request.
import type { Json } from "./api";
import { Step, steps_of } from "./round_devices";

export const kAttemptsShown = 20;  // the newest
export type Told = { kind: string; at: number; round: number; attempt: number };  // at: ms
export type Phase = { name: "selecting" | "collecting" | "closing" | "finalizing" | "whole"; seconds: number };
export type Attempt = { round: number; attempt: number; state: string; reason: string; drawn: number; accepted: number | null; extended: number; seconds: number; phases: Phase[] };

// Which phase begins with an event.
const kBegins: Record<string, Phase["name"]> = { round_opened: "selecting", round_collecting: "collecting", round_frozen: "closing", round_finalizing: "finalizing" };
const kEnds = ["round_done", "round_failed"];

export function told_of(kind: string, data: Json): Told | null {
  const at = Date.parse(data.time);
  const is_of_round = kind in kBegins || kEnds.includes(kind) || kind === "round_extended";
  return is_of_round && Number.isFinite(at) && Number.isInteger(data.round) && Number.isInteger(data.attempt) ? { kind, at, round: data.round, attempt: data.attempt } : null;
}

// Events of both, each once, in their order; an old page keeps the newest.
const kToldMax = 2000;
export function joined(some: Told[], more: Told[]): Told[] {
  const all = new Map([...some, ...more].map((one) => [`${one.kind} ${one.round} ${one.attempt} ${one.at}`, one]));
  return [...all.values()].sort((a, b) => a.at - b.at).slice(-kToldMax);
}

// Attempts as `rounds` has them. One whose beginning no event tells is one bar: the server's events are of the time since it began.
export function attempts(rounds: Json[], told: Told[], now: number): Attempt[] {
  const by_attempt = new Map<string, Told[]>();
  for (const one of told) {
    const key = `${one.round}.${one.attempt}`;
    by_attempt.set(key, [...by_attempt.get(key) ?? [], one]);
  }
  return rounds.map((round) => {
    const events = (by_attempt.get(`${round.number}.${round.attempt}`) ?? []).sort((a, b) => a.at - b.at);
    const opened = Date.parse(round.opened), closed = round.closed ? Date.parse(round.closed) : now;
    const begins = events.filter((one) => one.kind in kBegins);
    const end = events.find((one) => kEnds.includes(one.kind))?.at ?? closed;
    // Finalizing that is tried again goes on; a phase ends where the next begins.
    const phases = begins.map((one, i): Phase => ({ name: kBegins[one.kind], seconds: Math.max(0, ((begins[i + 1]?.at ?? end) - one.at) / 1000) }));
    const is_told = begins[0]?.kind === "round_opened";
    const seconds = Math.max(0, ((is_told ? end - begins[0].at : closed - opened) || 0) / 1000);
    return { round: round.number, attempt: round.attempt, state: round.state, reason: round.reason ?? "", drawn: round.selected, accepted: round.state === "failed" ? null : round.accepted,
      extended: events.filter((one) => one.kind === "round_extended").length, seconds, phases: is_told ? phases : [{ name: "whole", seconds }] };
  });
}

export const seconds_of = (attempt: Attempt, name: Phase["name"]): number | null =>
  attempt.phases.reduce<number | null>((sum, phase) => phase.name === name ? (sum ?? 0) + phase.seconds : sum, null);

const kEligible = "enrolled, now", kEligibleUntold = "for an operator or a security_admin", kWaitingUnknown = "not kept when it is over";
export type FunnelStep = [string, number | null, string];  // devices; null: nobody can say

// How many of an attempt's devices are left at each step, by the codes that its server tells (`coterie job why`); without codes, as its nodes have told
// nothing yet, by the round's row. `waiting` is said of now, and so only of an attempt under way; what a failed one had accepted that row does not say.
// `enrolled`: devices of the population, as far as the caller may know; null: not at all; undefined: it is not known yet.
export function funnel(round: Json, waiting: number | undefined, codes: Json[] = [], enrolled?: number | null): FunnelStep[] {
  const eligible: FunnelStep[] = enrolled === undefined ? [] : [["eligible", enrolled, enrolled === null ? kEligibleUntold : kEligible]];
  if (codes.length > 0) {
    const goal = codes.some((one) => one.code === "counted" && one.devices >= round.goal_count) ? "reached" : "not reached";
    const lost = (step: Step) => step.lost.map((one) => `${one.devices} ${one.reason ? `${one.code}/${one.reason}` : one.code}`).join(", ");
    return [...eligible, ...steps_of(codes).map((step): FunnelStep => [step.name, step.devices, step.lost.length > 0 ? `without ${lost(step)}` : ""]), ["goal", round.goal_count, goal]];
  }
  const is_over = ["done", "failed"].includes(round.state), lost = round.selected - round.accepted;
  const steps: FunnelStep[] = [...eligible];
  if (is_over) steps.push(["waiting", null, kWaitingUnknown]);
  else if (waiting !== undefined) steps.push(["waiting", waiting, "of the population, now"]);
  steps.push(["drawn", round.selected, "got a ticket"]);
  if (round.state !== "failed") {
    steps.push(["accepted", round.accepted, lost <= 0 ? "all that were drawn" : is_over ? `${lost} were refused, left or came too late` : `${lost} not yet`]);
    steps.push(["goal", round.goal_count, round.accepted >= round.goal_count ? "reached" : "not reached"]);
  } else steps.push(["goal", round.goal_count, "not reached"]);
  return steps;
}
