// What a job's page asks the server, at first and as the job goes on.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Json } from "./api";
import { Asked, asked_of, key } from "./job_rounds";
import { useAsked } from "./parts";
import { RefreshPace } from "./refresh_pace";

// `soon`: something has happened to the job. A page that nobody sees asks when it is seen again.
export function useJob(path: string) {
  const known = useRef<Asked>({ job: {}, rounds: [], models: [] });
  const { current: pace } = useRef(new RefreshPace());
  const asked = useAsked(async () => {
    pace.begin(performance.now());
    try { return known.current = await asked_of(path, known.current); } finally { later(pace.end(performance.now())); }
  }, path);
  const later = (wait: number | null) => wait === null || setTimeout(() =>
    document.hidden ? document.addEventListener("visibilitychange", asked.refresh, { once: true }) : asked.refresh(), wait);
  return { ...asked, soon: () => { later(pace.happened(performance.now())); } };
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
