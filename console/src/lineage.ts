// Where versions of models come from. No page and no request.
import type { Json } from "./api";

export type Version = { job: Json; model: Json; round?: Json; from?: { job: Json; version: number } };

// The versions of `jobs`, newest first, each with the round that made it; an initial model that is a version of another of these jobs
// says of which. `models` and `rounds` are of the jobs, in their order; a round may be gone.
export function lineage(jobs: Json[], models: Json[][], rounds: Json[][]): Version[] {
  const made = new Map<string, { job: Json; version: number }>();
  models.forEach((of, i) => of.forEach((model) => { if (model.version > 0) made.set(model.digest, { job: jobs[i], version: model.version }); }));
  const found = jobs.flatMap((job, i) => {
    const makers = new Map(rounds[i].filter((round) => round.model).map((round) => [round.model.version, round]));
    return models[i].map((model): Version => {
      const from = model.version === 0 ? made.get(model.digest) : undefined;
      return { job, model, round: makers.get(model.version), ...(from && from.job !== job ? { from } : {}) };
    });
  });
  return found.sort((a, b) => a.model.created < b.model.created ? 1 : a.model.created > b.model.created ? -1 : b.model.version - a.model.version);
}

export const kFromJobs = 50;  // among whose versions an initial model is looked for
// The version of `jobs` that is this very file; `models` are theirs, in their order.
export function origin(model: Json, jobs: Json[], models: Json[][]): { job: Json; version: number } | undefined {
  for (const [i, of] of models.entries()) {
    const same = of.find((one) => one.version > 0 && one.digest === model.digest);
    if (same) return { job: jobs[i], version: same.version };
  }
}

// Where a version went: what, and which; `to` is the page of it. `jobs` and `canaries` are those that the caller sees, `version` is of `job`.
export type Use = { what: string; which: string; since?: string; to?: string };
export function uses(job: Json, model: Json, jobs: Json[], canaries: Json[]): Use[] {
  const released = job.released?.version === model.version ? [{ what: "released to applications", which: `version ${model.version}`, since: job.released.time }] : [];
  const shares = canaries.filter((canary) => canary.version === model.version)
    .map((canary): Use => ({ what: `canary, ${canary.state}`, which: `${canary.percent} % of the devices`, since: canary.created }));
  const begun = jobs.filter((other) => other.id !== job.id && other.spec.model === model.digest)
    .map((other): Use => ({ what: "a job began from it", which: other.spec.name, since: other.created, to: `#/jobs/${encodeURIComponent(other.id)}` }));
  return [...released, ...shares, ...begun];
}
