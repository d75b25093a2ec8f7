// What the server tells of a job while its page is open.
import { useEffect, useState } from "preact/hooks";
import type { Json } from "./api";
import { replay } from "./event_replay";
import { joined, kAttemptsShown, Told, told_of } from "./phases";

const kEvents = ["job_state_changed", "job_completed", "job_failed", "model_released", "round_opened", "round_collecting",
  "round_extended", "updates_accepted", "round_frozen", "round_finalizing", "finalize_failed", "round_failed", "round_done"];

// What happens to the job, from the server's stream, which begins again behind the last event by itself. `told`: what happened to its
// rounds before that, too.
export function useEvents(job: string, happened: (kind: string) => void) {
  const [now, set_now] = useState<Json>({});
  const [told, set_told] = useState<Told[]>([]);
  const [link, set_link] = useState("connecting");
  useEffect(() => {
    const path = `/admin/v1/jobs/${encodeURIComponent(job)}/events`;
    const stream = new EventSource(path);
    const stop = new AbortController();
    let is_begun = false;
    const begin = (event: MessageEvent) => {  // the first id names the log, whose past is asked for apart
      if (is_begun || !event.lastEventId) return;
      is_begun = true;
      replay(path, event.lastEventId, kAttemptsShown, stop.signal).then((past) => stop.signal.aborted || set_told((old) => joined(past, old)));
    };
    const read = (event: MessageEvent) => { try { return JSON.parse(event.data); } catch { return {}; } };
    stream.onopen = () => set_link("live");
    stream.onerror = () => {
      const is_closed = stream.readyState === EventSource.CLOSED;  // refused: asking says why, also that the session has ended
      set_link(is_closed ? "not live: reload the page to try again" : "connecting again");
      if (is_closed) happened("closed");
    };
    stream.addEventListener("round", (e) => { begin(e as MessageEvent); set_now(read(e as MessageEvent)); });
    stream.addEventListener("over", (e) => { begin(e as MessageEvent); stream.close(); set_link("the job is over"); happened("over"); });
    stream.addEventListener("events_missed", () => happened("events_missed"));  // nobody says what they were
    for (const kind of kEvents) stream.addEventListener(kind, (e) => {
      if (kind === "updates_accepted") { const told = read(e as MessageEvent); set_now((old) => ({ ...old, ...told })); return; }
      const one = told_of(kind, read(e as MessageEvent));
      if (one) set_told((old) => joined(old, [one]));
      happened(kind);
    });
    return () => { stop.abort(); stream.close(); };
  }, [job]);
  return { now, link, told };
}
