// What a job's stream of events means to its page. No page and no request.
import type { Json } from "./api";
import { Told, told_of } from "./phases";

export const kEvents = ["job_state_changed", "job_completed", "job_failed", "model_released", "round_opened", "round_collecting",
  "round_extended", "updates_accepted", "round_frozen", "round_finalizing", "finalize_failed", "round_failed", "round_done"];

export type Heard = {
  link: (text: string) => void;
  now: (change: (old: Json) => Json) => void;  // of the attempt under way
  told: (one: Told) => void;
  begun: (id: string) => void;                 // once: the first id names the log, whose past is asked for apart
  happened: (kind: string) => void;            // the page may have to ask again
};

const kClosed = 2;  // EventSource.CLOSED
type Stream = Pick<EventSource, "addEventListener" | "close" | "onopen" | "onerror" | "readyState">;

// The stream begins with what comes after it was opened: what has happened between the page's questions and that, it never tells. So the page asks once
// more when it is open. From the first id on a stream that breaks goes on behind the last event by itself, or says `events_missed`.
export function follow(stream: Stream, heard: Heard): void {
  let has_position = false;
  const read = (event: Event) => { try { return JSON.parse((event as MessageEvent).data) ?? {}; } catch { return {}; } };
  const begin = (event: Event) => {
    const id = (event as MessageEvent).lastEventId;
    if (has_position || !id) return;
    has_position = true;
    heard.begun(id);
  };
  stream.onopen = () => {
    heard.link("live");
    if (!has_position) heard.happened("opened");
  };
  stream.onerror = () => {
    const is_closed = stream.readyState === kClosed;  // refused: asking says why, also that the session has ended
    heard.link(is_closed ? "not live: reload the page to try again" : "connecting again");
    if (is_closed) heard.happened("closed");
  };
  stream.addEventListener("round", (e) => { begin(e); heard.now(() => read(e)); });
  stream.addEventListener("over", (e) => { begin(e); stream.close(); heard.link("the job is over"); heard.happened("over"); });
  stream.addEventListener("events_missed", () => heard.happened("events_missed"));  // nobody says what they were
  for (const kind of kEvents) stream.addEventListener(kind, (e) => {
    if (kind === "updates_accepted") { const told = read(e); heard.now((old) => ({ ...old, ...told })); return; }
    const one = told_of(kind, read(e));
    if (one) heard.told(one);
    heard.happened(kind);
  });
}
