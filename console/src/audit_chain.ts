// The chain of the audit log, checked here: by the records that the server sends, not by what it says of them. As `coterie audit
// verify` does (fl_server/records/audit_chain.h): h_i = SHA-256(domain || h_(i-1) || entry_i), h_0 = 32 zero bytes. No page.
import type { Json } from "./api";

export type Head = { seq: number; digest: string };  // of the last record; 64 hexadecimal digits
export type Verified = { begin: Head; head: Head };  // the records behind `begin`, a seal where the server has no older ones
export class Tampered extends Error {}

const kEmpty: Head = { seq: 0, digest: "0".repeat(64) };
const kPage = 1000, kDomain = "coterie/v1/audit";

export const head_text = (head: Head): string => `${head.seq}:${head.digest}`;
// Null: it is no head, as `coterie audit verify` prints it.
export function parse_head(text: string): Head | null {
  const found = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text.trim());
  return found && { seq: Number(found[1]), digest: found[2] };
}

function number_bytes(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

// Each field behind its length, four bytes, big-endian (secure/crypto/domain_fields.h).
function joined(fields: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(fields.reduce((sum, field) => sum + 4 + field.length, 0));
  let at = 0;
  for (const field of fields) {
    new DataView(bytes.buffer).setUint32(at, field.length);
    bytes.set(field, at + 4);
    at += 4 + field.length;
  }
  return bytes;
}

const is_head = (of: Json): of is Head => Number.isSafeInteger(of?.seq) && of.seq >= 0 && /^[0-9a-f]{64}$/.test(of.digest);
const is_record = (of: Json): boolean => is_head(of) && [of.unix_ms, of.outcome].every((value) => Number.isSafeInteger(value) && value >= 0) &&
  ["who", "roles", "action", "target", "request"].every((key) => typeof of[key] === "string");

export async function digest_of(before: string, entry: Json): Promise<string> {
  const text = (value: string) => new TextEncoder().encode(value);
  const previous = Uint8Array.from(before.match(/../g)!, (two) => parseInt(two, 16));
  const bytes = joined([text(kDomain), previous, number_bytes(entry.seq), number_bytes(entry.unix_ms), text(entry.who), text(entry.roles), text(entry.action), text(entry.target),
    number_bytes(entry.outcome), text(entry.request)]);
  return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Reads all pages by `get` (a target below /admin/v1/) and checks each record. Throws Tampered with the first that is wrong, or where
// the log does not reach `noted`, or begins behind it. `told`: so far.
export async function verify_audit(get: (path: string) => Promise<Json>, noted: Head | null, told: (head: Head) => void = () => {}): Promise<Verified> {
  let begin = kEmpty, head = kEmpty;
  for (let is_first = true; ; is_first = false) {
    const page = await get(`audit?limit=${kPage}&after=${head.seq}`);
    if (is_first && page.begins_after !== undefined) {
      if (!is_head(page.begins_after)) throw new Tampered("the server says of no older record where they ended");
      begin = head = page.begins_after;
    }
    if (!Array.isArray(page.records)) throw new Tampered("the server's answer has no records");
    for (const record of page.records) {
      if (!is_record(record) || record.seq !== head.seq + 1) throw new Tampered(`record ${head.seq + 1} is not there`);
      if (await digest_of(head.digest, record) !== record.digest) throw new Tampered(`record ${record.seq} is not what was written`);
      if (noted?.seq === record.seq && noted!.digest !== record.digest) throw new Tampered(`record ${record.seq}, or one before it, was written anew: another digest was noted`);
      head = { seq: record.seq, digest: record.digest };
    }
    told(head);
    if (page.records.length < kPage) break;
  }
  if (noted && noted.seq < begin.seq) throw new Tampered(`the log begins behind record ${begin.seq}: record ${noted.seq}, which was noted, is in an exported segment`);
  if (noted && noted.seq === begin.seq && noted.digest !== begin.digest) throw new Tampered(`the seal of record ${begin.seq} is not what was noted`);
  if (noted && noted.seq > head.seq) throw new Tampered(`the log ends with record ${head.seq}, but record ${noted.seq} was noted: its end was cut off, or an older copy was put back`);
  return { begin, head };
}
