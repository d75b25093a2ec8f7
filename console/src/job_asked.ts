// What a job's page asks the server, at first and as the job goes on.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Json } from "./api";
import { Asked, asked_of, key, kNothing, whole_of } from "./job_rounds";
import { useAsked } from "./parts";
import { is_news, RefreshPace } from "./refresh_pace";
import { attempt_named, cursor_behind, is_named } from "./round_devices";

// `soon`: an event of this kind has happened to the job. A page that nobody sees asks when it is seen again. `whole`: all rounds and models, which the page has from then on.
export function useJob(path: string) {
  const known = useRef<Asked>(kNothing);
  const { current: pace } = useRef(new RefreshPace());
  const asked = useAsked(async () => {
    pace.begin(performance.now());
    try {
      const { is_whole, ...now } = await asked_of(path, known.current);
      // All may have come meanwhile, to somebody who asked for it.
      return known.current = { ...now, ...(known.current.is_whole && !is_whole ? { rounds: known.current.rounds, models: known.current.models } : {}), is_whole: is_whole || known.current.is_whole };
    } finally { later(pace.end(performance.now())); }
  }, path);
  const ask = () => {
    const left = pace.left(performance.now());
    if (left === 0) asked.refresh();
    else later(left);
  };
  const later = (wait: number | null) => { if (wait !== null) setTimeout(() => document.hidden ? document.addEventListener("visibilitychange", ask, { once: true }) : ask(), wait); };
  const whole = async (): Promise<Asked> => {
    if (!known.current.is_whole) {
      known.current = await whole_of(path);
      asked.refresh();
    }
    return known.current;
  };
  return { ...asked, whole, soon: (kind: string) => { later(pace.happened(performance.now(), is_news(kind))); } };
}

// The attempt that the address names, else the newest; one of long ago is asked for by itself.
export function useAttempt(path: string, rounds: Json[], name: string): Json | undefined {
  const [older, set] = useState<{ of: string; round?: Json }>({ of: "" });
  const cursor = cursor_behind(name), is_missing = rounds.length > 0 && cursor !== "" && !rounds.some((round) => is_named(round, name));
  useEffect(() => {
    let alive = true;
    if (is_missing) get(`${path}/rounds?limit=1&before=${cursor}`).then((page) => alive && set({ of: name, round: page.rounds.find((round: Json) => is_named(round, name)) }), () => {});
    return () => { alive = false; };
  }, [path, name, is_missing]);
  return is_missing && older.of === name && older.round ? older.round : attempt_named(rounds, name);
}

// What became of the devices of an attempt; none where there is no attempt, or a server of before tells it. Asked for when the page has the rest, and
// again whenever it has other `rounds`.
export function useCodes(path: string, round?: Json, rounds?: Json[]): Json[] {
  const [told, set] = useState<{ of: string; codes: Json[] }>({ of: "", codes: [] });
  const of = round ? key(round) : "";
  useEffect(() => {
    let alive = true;
    if (round) get(`${path}/rounds/${round.number}/why`).then((why) => alive &&
      set({ of, codes: why.attempts.find((one: Json) => one.attempt === round.attempt)?.codes ?? [] }), () => {});
    return () => { alive = false; };
  }, [path, of, rounds]);
  return told.of === of ? told.codes : [];
}

const kEnrolledMs = 30_000;
// How many devices of the job's population are enrolled and not revoked; null: the caller may not know; undefined: not known yet.
export function useEnrolled(population: string | undefined, may_know: boolean): number | null | undefined {
  const { value } = useAsked(async () => population === undefined || !may_know ? undefined : (await get(`devices?limit=1&revoked=false&population=${encodeURIComponent(population)}`)).total as number,
    `enrolled ${population} ${may_know}`, kEnrolledMs);
  return population !== undefined && !may_know ? null : value;
}
