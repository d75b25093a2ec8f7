// What the server still knows of a job's past: its events since it began, at most the newest of its log.
import { told_of, Told } from "./phases";

const kBack = [250, 1_000, 9_000], kBytesMax = 16 << 20, kMsMax = 10_000;  // the server's log has 10,000 events of all jobs

// What the newest events tell, as few of kBack as tell the beginning of more than `attempts`; else what all of them tell. A stream tells some hundred
// events at a time and rests, so that all events of a job whose rounds take milliseconds take seconds to come.
export async function replay(path: string, last: string, attempts: number, stop: AbortSignal): Promise<Told[]> {
  let told: Told[] = [];
  for (const count of kBack) {
    told = await told_since(path, last, count, stop);
    const [, seq] = last.split("-"), is_all = !(Number(seq) > count);
    if (is_all || stop.aborted || told.filter((one) => one.kind === "round_opened").length > attempts) break;
  }
  return told;
}

// Reads the stream from `count` events before `last`, an id, up to the present, which a `round` or an `over` is.
async function told_since(path: string, last: string, count: number, stop: AbortSignal): Promise<Told[]> {
  const [epoch, seq] = last.split("-");
  const from = Math.max(0, Number(seq) - count);
  if (!Number.isFinite(from)) return [];
  const end = new AbortController();
  const over = () => end.abort();
  stop.addEventListener("abort", over);
  const timer = setTimeout(over, kMsMax);
  const found: Told[] = [];
  try {
    const answer = await fetch(path, { headers: { Accept: "text/event-stream", "Last-Event-ID": `${epoch}-${from}` }, credentials: "same-origin", cache: "no-store", signal: end.signal });
    if (!answer.ok || !answer.body) return [];
    const reader = answer.body.getReader(), decoder = new TextDecoder();
    for (let text = "", bytes = 0; ;) {
      const { done, value } = await reader.read();
      if (done || (bytes += value.length) > kBytesMax) return found;
      const events = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = events.pop()!;
      for (const event of events) {
        const field = (name: string) => event.split("\n").find((line) => line.startsWith(name + ":"))?.slice(name.length + 1).trim() ?? "";
        const kind = field("event");
        if (kind === "round" || kind === "over") return found;
        const told = told_of(kind, parsed(field("data")));
        if (told) found.push(told);
      }
    }
  } catch { return found; } finally { clearTimeout(timer); stop.removeEventListener("abort", over); end.abort(); }
}

function parsed(text: string) { try { return JSON.parse(text) ?? {}; } catch { return {}; } }
