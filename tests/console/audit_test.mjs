// The chain of the audit log as the page checks it: the digests of `coterie audit verify`, and whatever is done to a log is found.
// Usage: node audit_test.mjs SOURCES PACKAGES
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [sources, packages] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(packages, "package.json"))("esbuild");
const built = esbuild.buildSync({ entryPoints: [join(sources, "src", "audit_chain.ts")], bundle: true, write: false, format: "esm" });
const { digest_of, head_text, parse_head, verify_audit } = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));

// The records and digests of tests/unit/fl_server/records/audit_chain_test.cc.
const kZeros = "0".repeat(64);
const paused = { seq: 1, unix_ms: 1_700_000_000_000, who: "admin-token", roles: "viewer, operator", action: "job.pause", target: "/admin/v1/jobs/j1:pause", outcome: 0,
  request: "00ff00ff00ff00ff", digest: "2bf911331e58a97574525b593cccbed38dfcc1b270d91ff9a664a69ffae77fdc" };
const refused = { seq: 2, unix_ms: 1_700_000_000_001, who: "-", roles: "", action: "job.pause", target: "/admin/v1/jobs/{job}:pause", outcome: 401, request: "",
  digest: "7becba76f3cf8ba3fca9233bd6cfaee21f2b47b399a2dc676424978e94f1ab03" };
assert.equal(await digest_of(kZeros, paused), paused.digest);
assert.equal(await digest_of(paused.digest, refused), refused.digest);

// A log of any length, served in pages as the API has them.
const chain = async (count) => {
  const records = [];
  for (let seq = 1, before = kZeros; seq <= count; seq++) {
    const record = { ...refused, seq };
    before = record.digest = await digest_of(before, record);
    records.push(record);
  }
  return records;
};
const serve = (records, first = {}) => async (path) => {
  const query = new URLSearchParams(path.split("?")[1]), after = Number(query.get("after"));
  return { records: records.filter((one) => one.seq > after).slice(0, Number(query.get("limit"))), ...(after === 0 && first) };
};
const head = ({ seq, digest }) => ({ seq, digest });
const verify = (records, noted = null, first = {}) => verify_audit(serve(records, first), noted);
const both = [paused, refused];
assert.deepEqual(await verify(both), { begin: { seq: 0, digest: kZeros }, head: head(refused) });
assert.deepEqual(await verify([]), { begin: { seq: 0, digest: kZeros }, head: { seq: 0, digest: kZeros } });
assert.equal((await verify(both, head(paused))).head.seq, 2);
const long = await chain(2000), steps = [];
await verify_audit(serve(long), head(long[999]), (reached) => steps.push(reached.seq));
assert.deepEqual(steps, [1000, 2000, 2000]);

// What was done to it, and where.
const refuses = (records, words, noted, first) => assert.rejects(verify(records, noted, first), (error) => error.message.includes(words), words);
await refuses([paused, { ...refused, who: "somebody" }], "record 2 is not what was written");
await refuses([{ ...paused, unix_ms: 1 }, refused], "record 1 is not what was written");
await refuses([refused], "record 1 is not there");
await refuses([paused, { ...refused, seq: 3 }], "record 2 is not there");
await refuses([paused, { ...refused, outcome: "401" }], "record 2 is not there"); // no record
await refuses([paused], "ends with record 1, but record 2 was noted", head(refused));
await refuses(both, "written anew", { seq: 1, digest: "a".repeat(64) });
await refuses([refused], "begins behind record 1", head({ seq: 0, digest: kZeros }), { begins_after: head(paused) });
await refuses([refused], "the seal of record 1", { seq: 1, digest: "a".repeat(64) }, { begins_after: head(paused) });
await refuses([refused], "where they ended", null, { begins_after: { seq: 1 } });
assert.deepEqual(await verify([refused], head(paused), { begins_after: head(paused) }), { begin: head(paused), head: head(refused) });
await assert.rejects(verify_audit(async () => ({}), null), /no records/);

// Heads, as people paste them.
assert.deepEqual(parse_head(` ${head_text(refused)}\n`), head(refused));
for (const text of ["", "2", "2:", `2:${kZeros}0`, `-1:${kZeros}`, `2:${"A".repeat(64)}`, `9999999999999999:${kZeros}`]) assert.equal(parse_head(text), null, text);
