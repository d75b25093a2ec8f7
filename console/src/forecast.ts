// What a job's releases spend of its privacy budget, round by round. No page and no request.
//
// The exact trade-off of Gaussian noise (Balle and Wang 2018, arXiv 1805.06530, Theorem 8), as the server's accountant "exact" has it: k equal
// releases are one with mu sqrt(k). From the server's epsilon and the number of releases follows mu of one, and so every other number.
import type { Json } from "./api";

// points: epsilon after so many releases. last: the last release that the budget admits; null: none is in sight.
export type Forecast = { points: { release: number; epsilon: number }[]; releases: number; last: number | null; delta: number; budget: number };
const kPointsMax = 300, kReleasesMax = 1e9;

// Phi(-t) e^(t^2 / 2) sqrt(2 pi) for t >= 0: the Mills ratio, by its series below 2.5 and Lentz's continued fraction above.
function mills(t: number): number {
  if (t < 2.5) {
    let term = t, sum = t;
    for (let n = 1; Math.abs(term) > 1e-17 * sum && n < 200; n++) sum += term *= t * t / (2 * n + 1);
    return Math.sqrt(Math.PI / 2) * Math.exp(t * t / 2) - sum;
  }
  let fraction = t;
  for (let n = 80; n >= 1; n--) fraction = t + n / fraction;
  return 1 / fraction;
}
const density = (t: number) => Math.exp(-t * t / 2) / Math.sqrt(2 * Math.PI);
export const upper_tail = (t: number): number => t >= 0 ? density(t) * mills(t) : 1 - density(t) * mills(-t);

// The least delta at epsilon >= 0. Behind mu / 2 both tails share a density, so that the difference is one of Mills ratios.
export function delta_of(mu: number, epsilon: number): number {
  const near = epsilon / mu - mu / 2, far = epsilon / mu + mu / 2;
  if (near >= 0) return density(near) * (mills(near) - mills(far));
  return upper_tail(near) - density(near) * mills(far);
}

// Where `f`, which does not rise, falls to `to` above `low`.
function falls_to(f: (x: number) => number, to: number, low: number): number {
  let high = Math.max(1, 2 * low);
  while (f(high) > to && high < 1e9) high *= 2;
  for (let i = 0; i < 100 && high - low > 1e-13 * high; i++) { const middle = (low + high) / 2; if (f(middle) > to) low = middle; else high = middle; }
  return high;
}
export const epsilon_of = (mu: number, delta: number): number => delta_of(mu, 0) <= delta ? 0 : falls_to((epsilon) => delta_of(mu, epsilon), delta, 0);
export const mu_of = (epsilon: number, delta: number): number => 1 / falls_to((one) => delta_of(1 / one, epsilon), delta, 1e-9);

// Null: no forecast of this job, with the reason in words.
export function forecast(job: Json): Forecast | string {
  const spent = job.privacy, settings = job.spec.privacy ?? {};
  if (!spent) return "The job adds no noise.";
  if (settings.mechanism === "tree") return "The noise is of a tree: one release stands for the whole job, and nothing is added by round.";
  if (!spent.releases) return "Nothing is released yet, so that the rate is not known.";
  if (spent.epsilon === null || !(spent.epsilon > 0) || !(spent.delta > 0) || !(spent.epsilon_budget > 0)) return "What is spent is not bounded.";
  const one = mu_of(spent.epsilon, spent.delta) / Math.sqrt(spent.releases);
  const after = (releases: number) => epsilon_of(one * Math.sqrt(releases), spent.delta);
  const planned = spent.releases + Math.max(0, (job.spec.rounds?.count ?? 10) - job.rounds_done);
  // Epsilon rises with each release, so that the last one that fits is found by halving.
  let low = spent.epsilon <= spent.epsilon_budget ? spent.releases : 0, high = low + 1;
  while (high < kReleasesMax && after(high) <= spent.epsilon_budget) { low = high; high *= 2; }
  if (high < kReleasesMax) while (high - low > 1) { const middle = Math.floor((low + high) / 2); if (after(middle) <= spent.epsilon_budget) low = middle; else high = middle; }
  const last = high < kReleasesMax ? low : null;
  const end = Math.max(spent.releases, Math.min(planned, last === null ? planned : last + 1));
  const step = Math.ceil(end / kPointsMax);
  const places = [...new Set([1, ...Array.from({ length: Math.floor(end / step) }, (_, i) => (i + 1) * step), spent.releases, ...(last !== null && last > 0 && last <= end ? [last] : []), end])].sort((a, b) => a - b);
  return { points: places.map((release) => ({ release, epsilon: after(release) })), releases: spent.releases, last, delta: spent.delta, budget: spent.epsilon_budget };
}
