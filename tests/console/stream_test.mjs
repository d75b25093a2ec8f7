// What the console makes of a job's stream of events: torn, damaged, endless. Usage: node stream_test.mjs SOURCES PACKAGES
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [sources, packages] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(packages, "package.json"))("esbuild");
const load = async (name) => {
  const built = esbuild.buildSync({ entryPoints: [join(sources, "src", name)], bundle: true, write: false, format: "esm" });
  return import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
};
const { replay } = await load("event_replay.ts");
const { joined } = await load("phases.ts");

const opened = (round, more = {}) => ({ kind: "round_opened", data: { time: `2026-01-01T00:00:${String(round % 60).padStart(2, "0")}Z`, round, attempt: 1, ...more } });
const text_of = ({ kind, data }, id = "e-1") => `id: ${id}\nevent: ${kind}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const present = text_of({ kind: "round", data: {} });

// The answer of a server whose bytes come in these pieces; `asked` has the request, `taken` how many pieces were read.
let asked, taken;
function answer_with(pieces) {
  const each = pieces[Symbol.iterator]();
  taken = 0;
  globalThis.fetch = async (path, options) => {
    asked = { path, ...options };
    return new Response(new ReadableStream({
      start(stream) { options.signal.addEventListener("abort", () => stream.error(options.signal.reason)); },
      pull(stream) {
        const { done, value } = each.next();
        if (done) return stream.close();
        if (value instanceof Error) return stream.error(value);
        ++taken;
        stream.enqueue(value);
      },
    }, { highWaterMark: 0 }));
  };
}
const never = new AbortController().signal;
const kAny = -1;  // of attempts: the newest events are enough, whatever they tell
const rounds = async (pieces) => { answer_with(pieces); return (await replay("/events", "e-20000", kAny, never)).map((one) => one.round); };
const bytes = (text) => new TextEncoder().encode(text);

// ---- Torn: the same events from pieces of every size, also where a piece ends inside of a character.
const whole = bytes(text_of(opened(1, { by: "Zoë 本" })) + ": beat\n\n" + text_of(opened(2)) + present + text_of(opened(3)));
for (let size = 1; size <= whole.length; ++size) {
  const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) => whole.slice(i * size, (i + 1) * size));
  assert.deepEqual(await rounds(pieces), [1, 2], `pieces of ${size}`); // and nothing behind the present
}
assert.equal(asked.headers["Last-Event-ID"], "e-19750");

// ---- Cut off: what has come whole is told, an event that has not is none.
const half = text_of(opened(2)).slice(0, -1);
assert.deepEqual(await rounds([bytes(text_of(opened(1)) + half)]), [1]);
assert.deepEqual(await rounds([bytes(text_of(opened(1)) + half), new TypeError("network error")]), [1]);
assert.deepEqual(await rounds([]), []);

// ---- Damaged: such events are passed over.
for (const data of ["", "{", "null", "[]", "7", { round: 1, attempt: 1 }, { time: "no time", round: 1, attempt: 1 }, { time: "2026-01-01", round: "1", attempt: 1 }]) {
  assert.deepEqual(await rounds([bytes(text_of({ kind: "round_opened", data }) + text_of(opened(2)) + present)]), [2], JSON.stringify(data));
}
assert.deepEqual(await rounds([Uint8Array.of(0xff, 0xfe, 0x0a, 0x0a), bytes(text_of(opened(2)))]), [2]);
for (const id of ["", "-", "e-x", "e"]) { // no id of a log: nothing is asked
  answer_with([]);
  asked = undefined;
  assert.deepEqual(await replay("/events", id, kAny, never), []);
  if (id !== "" && id !== "-") assert.equal(asked, undefined, id);
}

// ---- A million events, and one without an end: no more is read than 16 MiB, and the page keeps the newest 2,000.
function* endless(piece, count) { for (let i = 0; i < count; ++i) yield piece(i); }
const thousand = (i) => bytes(Array.from({ length: 1000 }, (_, n) => text_of(opened(i * 1000 + n))).join(""));
const many = await rounds(endless(thousand, 1000));
const piece_bytes = thousand(0).length;
assert.ok(taken * piece_bytes < (16 << 20) + 3 * piece_bytes, `${taken} pieces were read`);
assert.ok(many.length > 100_000 && many.every((round, i) => round === i));
const kept = joined([], Array.from({ length: 1_000_000 }, (_, i) => ({ kind: "round_done", at: i, round: i, attempt: 1 })));
assert.deepEqual([kept.length, kept[0].round, kept.at(-1).round], [2000, 998_000, 999_999]);
const block = new Uint8Array(1 << 16).fill(0x78);
assert.deepEqual(await rounds(endless(() => block, 100_000)), []);
assert.ok(taken <= (16 << 20) / block.length + 2, `${taken} blocks were read`);

// ---- Given up by the page in the middle of it.
const stop = new AbortController();
answer_with(function* () {
  yield bytes(text_of(opened(1)));
  stop.abort();
  throw new Error("it is asked for more");
}());
assert.deepEqual((await replay("/events", "e-5", 20, stop.signal)).map((one) => one.round), [1]);

// ---- The newest events say of too few attempts: more are asked for, at last all that the log has.
const asks = [];
globalThis.fetch = async (path, options) => { asks.push(options.headers["Last-Event-ID"]); return new Response(text_of(opened(asks.length)) + present); };
assert.deepEqual((await replay("/events", "e-20000", 1, never)).map((one) => one.round), [3]);
assert.deepEqual(asks, ["e-19750", "e-19000", "e-11000"]);

// ---- What is between the page's questions and the opening of the stream, no event tells: the page asks once more, and again only as long as it has no place in the log.
const { follow } = await load("job_stream.ts");
class Stream {
  listeners = {}; readyState = 1; closed = false;
  addEventListener(kind, then) { this.listeners[kind] = then; }
  close() { this.closed = true; }
  say(kind, data, lastEventId = "") { this.listeners[kind]?.({ data: typeof data === "string" ? data : JSON.stringify(data), lastEventId }); }
}
const stream = new Stream(), happened = [], links = [], told = [];
let now = {}, begun = [];
follow(stream, { link: (text) => links.push(text), now: (change) => { now = change(now); }, told: (one) => told.push(one.round), begun: (id) => begun.push(id), happened: (kind) => happened.push(kind) });
assert.deepEqual(happened, []); // not before it is open: a round that ends then is in no answer yet
stream.onopen();
assert.deepEqual(happened, ["opened"]);
stream.readyState = 0;
stream.onerror(); // it breaks before the server has said where in the log it is
stream.onopen();
assert.deepEqual([happened.length, links], [2, ["live", "connecting again", "live"]]);
stream.say("round", { round: 3, attempt: 1, accepted: 1 }, "e-7");
stream.onerror();
stream.onopen(); // from here on the server tells what is missed
assert.deepEqual([happened.length, begun, now.round], [2, ["e-7"], 3]);
stream.say("updates_accepted", { accepted: 5 }, "e-8");
stream.say("round_done", { time: "2026-01-01T00:00:09Z", round: 3, attempt: 1 }, "e-9");
for (const data of ["{", "null"]) stream.say("round_done", data, "e-10");
assert.deepEqual([now.accepted, now.round, told, happened.slice(2), begun.length], [5, 3, [3], ["round_done", "round_done", "round_done"], 1]);
stream.say("over", {}, "e-11");
assert.deepEqual([happened.at(-1), stream.closed], ["over", true]);
const refused = new Stream();
refused.readyState = 2;
follow(refused, { link: (text) => links.push(text), now: () => {}, told: () => {}, begun: () => {}, happened: (kind) => happened.push(kind) });
refused.onerror();
assert.deepEqual([happened.at(-1), links.at(-1)], ["closed", "not live: reload the page to try again"]);
