// What the server tells of a job while its page is open.
import { useEffect, useState } from "preact/hooks";
import type { Json } from "./api";
import { replay } from "./event_replay";
import { follow } from "./job_stream";
import { joined, kAttemptsShown, Told } from "./phases";

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
    const begun = (id: string) => { replay(path, id, kAttemptsShown, stop.signal).then((past) => stop.signal.aborted || set_told((old) => joined(past, old))); };
    follow(stream, { link: set_link, now: set_now, told: (one) => set_told((old) => joined(old, [one])), begun, happened });
    return () => { stop.abort(); stream.close(); };
  }, [job]);
  return { now, link, told };
}
