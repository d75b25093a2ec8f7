// A job with its attempts of rounds and its models: all of them at first, later what may have changed.
import { get, Json, list } from "./api";

export type Asked = { job: Json; rounds: Json[]; models: Json[] };  // rounds: attempts, newest first; models: oldest first

const kRoundsMax = 2000, kModelsMax = 2000, kAgain = 20;  // attempts that are asked for again: only those under way change
export const key = (round: Json) => `${round.number}.${round.attempt}`;

// `known` with its newest attempts, `page`, of at most `most`, in place of what they cover; null: they do not reach what is known.
export function renewed(known: Json[], page: Json[], most: number): Json[] | null {
  if (page.length < most) return page;
  const at = known.findIndex((round) => key(round) === key(page.at(-1)!));
  return at < 0 ? null : [...page, ...known.slice(at + 1)].slice(0, kRoundsMax);
}

// `known` and `newer`, the versions behind them, marked as the job has it released now.
export const with_newer = (known: Json[], newer: Json[], job: Json): Json[] =>
  [...known, ...newer].map((model) => model.released === (model.version === job.released?.version) ? model : { ...model, released: !model.released });

async function rounds_of(path: string, known: Json[]): Promise<Json[]> {
  const page = known.length > 0 ? renewed(known, (await get(`${path}/rounds?limit=${kAgain}`)).rounds, kAgain) : null;
  return page ?? list(`${path}/rounds`, "rounds", kRoundsMax, "before");
}

async function models_behind(path: string, known: Json[]): Promise<Json[]> {
  return list(`${path}/models`, "models", kModelsMax, "after", known.at(-1)?.version);
}

export async function asked_of(path: string, known: Asked): Promise<Asked> {
  const [job, rounds, newer] = await Promise.all([get(path), rounds_of(path, known.rounds), models_behind(path, known.models)]);
  return { job, rounds, models: with_newer(known.models, newer, job) };
}
