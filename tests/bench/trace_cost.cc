// coterie-bench-trace: what keeping traces of rounds, and making them ready for a collector, costs a server for each
// device of a round, beside the least that it computes for one: the Ed25519 signatures of two requests, a check-in and
// an upload, verified. In processor time of one thread, block for block in turn, so that a machine that slows down
// slows both. Prints one JSON object.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

#include "fl_server/tracing/otlp_json.h"
#include "fl_server/tracing/round_spans.h"
#include "fl_server/tracing/round_traces.h"
#include "secure/crypto/signature.h"
#include "tests/bench/thread_time.h"

namespace {

using namespace coterie;

constexpr int kBlocks = 31;          // medians of so many
constexpr uint32_t kDevices = 1000;  // of an attempt
constexpr uint32_t kStoreCalls = 64;
constexpr int kSignatures = 200;  // of a block

DeviceId device_of(uint32_t number) {
  DeviceId id;
  for (size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<uint8_t>(number >> (8 * (i % 4)));
  return id;
}

// Microseconds of a device: an attempt with kDevices, from its begin to its end.
double traced(RoundTraces& traces, uint64_t round) {
  const event::RoundName name{.key = {RoundId(round), Attempt(1)}, .number = round};
  const auto tell = [&](event::What what) {
    traces.happened({.seq = round, .time = WallTime(Millis(1)), .job = JobId("bench"), .what = std::move(what)});
  };
  const double begin = bench::thread_cpu_seconds();
  tell(event::RoundOpened{name});
  for (const DeviceStep step : {DeviceStep::drawn, DeviceStep::uploads, DeviceStep::received, DeviceStep::accepted}) {
    for (uint32_t i = 0; i < kDevices; ++i) traces.device_at(name.key, device_of(i), step);
  }
  for (uint32_t i = 0; i < kStoreCalls; ++i) ProbedCall(&traces).returned(name.key, "accept batch");
  tell(event::RoundDone{.round = name, .updates = kDevices, .version = ModelVersion(round)});
  return (bench::thread_cpu_seconds() - begin) * 1e6 / kDevices;
}

// The same of spans, as they are sent.
double exported(RoundSpans& spans, uint64_t round) {
  const event::RoundName name{.key = {RoundId(round), Attempt(1)}, .number = round};
  const auto tell = [&](event::What what) {
    return spans.take({.seq = round, .time = WallTime(Millis(1)), .job = JobId("bench"), .what = std::move(what)});
  };
  const double begin = bench::thread_cpu_seconds();
  tell(event::RoundOpened{name});
  tell(event::RoundCollecting{name});
  tell(event::RoundFrozen{name});
  for (uint32_t i = 0; i < kStoreCalls; ++i) spans.take_call(name.key, {"accept batch", Micros(1000 + i), Micros(i)});
  const std::vector<Span> all =
      tell(event::RoundDone{.round = name, .updates = kDevices, .version = ModelVersion(round)});
  const std::string body = otlp_json(all, {.version = "1", .node = "bench"});
  if (all.size() != kStoreCalls + 4 || body.empty()) std::exit(1);
  return (bench::thread_cpu_seconds() - begin) * 1e6 / kDevices;
}

// Microseconds of two signatures.
double verified(const Signer& signer, const Bytes& message, const Bytes& signature) {
  const double begin = bench::thread_cpu_seconds();
  int good = 0;
  for (int i = 0; i < kSignatures; ++i) {
    good += signature_is_valid(signer.algorithm(), signer.public_key(), message, signature) ? 1 : 0;
  }
  if (good != kSignatures) std::exit(1);
  return (bench::thread_cpu_seconds() - begin) * 1e6 / kSignatures * 2;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"coterie-bench-trace: traces of rounds beside the signatures of their devices"};
  CLI11_PARSE(app, argc, argv);
  const Result<std::unique_ptr<Signer>> signer = make_signer(KeyAlgorithm::ed25519, Bytes(32, 7));
  const Bytes message(256, 1);
  const Result<Bytes> signature = signer ? (*signer)->sign(message) : Result<Bytes>(signer.error());
  if (!signature) return 1;
  RoundTraces traces("bench");
  RoundSpans spans("bench");
  std::vector<double> trace, otlp, verify, share, otlp_share;
  for (uint64_t block = 1; block <= kBlocks; ++block) {
    trace.push_back(traced(traces, block));
    otlp.push_back(exported(spans, block));
    verify.push_back(verified(**signer, message, *signature));
    share.push_back(trace.back() / verify.back());
    otlp_share.push_back(otlp.back() / verify.back());
  }
  std::printf(
      "{\"bench\": \"trace\", \"devices\": %u, \"trace_us\": %.3f, \"otlp_us\": %.3f, \"signatures_us\": %.1f, "
      "\"share\": "
      "%.5f, \"otlp_share\": %.5f}\n",
      kDevices, median(trace), median(otlp), median(verify), median(share), median(otlp_share));
  return 0;
}
