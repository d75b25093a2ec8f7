// A receiver of OpenTelemetry's traces on Node, over HTTP on 127.0.0.1: `node otlp_receiver.mjs`. Prints its port, then for each POST a line
// of JSON, {"spans": [...], "problems": [...]}; serves until standard input ends.
//
// It judges what comes by code that shares nothing with the sender's: the JSON encoding of OTLP 1.3 (hexadecimal ids, times as texts of
// digits, kinds as numbers), the order of times, that a parent is a span of the same trace which has come, and the attributes that the semantic
// conventions ask of a database's client. Attributes of a span it prints are an object.
import http from "node:http";

const KINDS = { 1: "internal", 3: "client" };
const SYSTEMS = new Set(["sqlite", "postgresql"]);
const idsByTrace = new Map();

function valueOf(value) {
  if ("stringValue" in value) return value.stringValue;
  if ("doubleValue" in value) return value.doubleValue;
  if (/^-?\d+$/.test(value.intValue)) return Number(value.intValue);
  throw new Error(`no value of OTLP: ${JSON.stringify(value)}`);
}

const attributesOf = (list) => Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]));

function* problemsOf(span, attributes) {
  if (!/^[0-9a-f]{32}$/.test(span.traceId) || /^0+$/.test(span.traceId)) yield `traceId ${span.traceId}`;
  if (!/^[0-9a-f]{16}$/.test(span.spanId) || /^0+$/.test(span.spanId)) yield `spanId ${span.spanId}`;
  if (!(span.kind in KINDS)) yield `kind ${span.kind}`;
  for (const time of [span.startTimeUnixNano, span.endTimeUnixNano]) {
    if (typeof time !== "string" || !/^\d{19}$/.test(time)) yield `time ${JSON.stringify(time)}`;
  }
  if (BigInt(span.endTimeUnixNano) < BigInt(span.startTimeUnixNano)) yield "it ends before it begins";
  const known = idsByTrace.get(span.traceId);
  if (span.parentSpanId !== undefined && !known.has(span.parentSpanId)) yield `its parent ${span.parentSpanId} is unknown`;
  if (span.parentSpanId === undefined && span.name !== "round") yield "it has no parent";
  if ("db.system.name" in attributes) {
    if (KINDS[span.kind] !== "client") yield "a call of a database is no client's";
    if (!SYSTEMS.has(attributes["db.system.name"])) yield `db.system.name ${attributes["db.system.name"]}`;
    if (attributes["db.operation.name"] !== span.name) yield "db.operation.name is not what the span is called";
  }
}

function judge(request) {
  const spans = request.resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans));
  for (const span of spans) {
    if (!idsByTrace.has(span.traceId)) idsByTrace.set(span.traceId, new Set());
    const ids = idsByTrace.get(span.traceId);
    span.isRepeated = ids.has(span.spanId);
    ids.add(span.spanId);
  }
  const problems = [];
  const seen = spans.map(({ isRepeated, ...span }) => {
    const attributes = attributesOf(span.attributes);
    for (const problem of problemsOf(span, attributes)) problems.push(`${span.name}: ${problem}`);
    if (isRepeated) problems.push(`${span.name}: its spanId has come before`);
    return { ...span, kind: KINDS[span.kind], attributes };
  });
  return { spans: seen, problems };
}

const server = http.createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  let told;
  try {
    told = judge(JSON.parse(Buffer.concat(pieces).toString("utf8")));
  } catch (error) {
    told = { spans: [], problems: [String(error)] };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end("{}");
});

server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
