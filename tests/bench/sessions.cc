// coterie-bench-sessions: a whole session of secure aggregation by the real machines, in this process: what one device
// and the server spend on it, beside what their key agreements, signatures and key streams alone take in the same run.
//
//   {"bench":"session", ...}   devices, graph, threshold, lanes of 32 bits, dropped behind sharing;
//                              client_ms: shares made, boxes opened, masks agreed on and applied, of one device
//                              server_s:  secrets opened and checked, masks taken off the sum
//
// Times are this thread's processor time; limits are counts of operations times what one of them takes here.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "secure/crypto/signature.h"
#include "secure/mask/mask_sum.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/client.h"
#include "secure/secagg/server.h"
#include "tests/bench/thread_time.h"

namespace {

using namespace coterie;
using bench::thread_cpu_seconds;

template <typename T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "coterie-bench-sessions: %s\n", result.error().message().c_str());
  std::exit(1);
}
void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "coterie-bench-sessions: %s\n", status.error().message().c_str());
  std::exit(1);
}

// What one operation takes, in seconds of processor time: the median of several turns.
template <typename Work>
double seconds_of(int calls, Work work) {
  std::vector<double> turns;
  for (int turn = 0; turn < 9; ++turn) {
    const double begin = thread_cpu_seconds();
    for (int call = 0; call < calls; ++call) work();
    turns.push_back((thread_cpu_seconds() - begin) / calls);
  }
  std::ranges::nth_element(turns, turns.begin() + 4);
  return turns[4];
}

struct Primitives {
  double agreement = 0, verification = 0, stream_byte = 0;  // seconds
};

Primitives measure_primitives() {
  const X25519KeyPair a = X25519KeyPair::generate(), b = X25519KeyPair::generate();
  const auto signer = must(make_signer(KeyAlgorithm::ed25519, Bytes(32, 1)));
  const Bytes message(300, 7), signature = must(signer->sign(message));
  MaskSum masks = must(MaskSum::make(CipherSuite::aes256_ctr));
  for (uint8_t i = 0; i < 16; ++i) must(masks.add(Secret<32>(std::array<uint8_t, 32>{i}), MaskSign::plus));
  std::vector<uint32_t> lanes(100'000);
  Primitives primitives;
  primitives.agreement = seconds_of(200, [&] { (void)a.agree(b.public_key()); });
  primitives.verification = seconds_of(
      100, [&] { (void)signature_is_valid(KeyAlgorithm::ed25519, signer->public_key(), message, signature); });
  primitives.stream_byte = seconds_of(5, [&] { masks.apply(0, std::span(lanes)); }) / (16.0 * lanes.size() * 4);
  return primitives;
}

struct Cohort {
  SecurityLevel level;
  uint32_t devices;
  double corrupt_share, dropout_share;
  uint64_t lanes;
  double dropped_share = .1;  // that do drop out
};

struct Device {
  std::unique_ptr<Signer> signer;
  std::optional<secagg::Client> client;
  uint32_t place = 0;
};

void measure(const Cohort& cohort, const Primitives& primitives) {
  secagg::SessionParameters parameters;
  parameters.level = cohort.level;
  parameters.corrupt_share = cohort.corrupt_share;
  parameters.dropout_share = cohort.dropout_share;
  parameters.lane_count = cohort.lanes;
  const auto anybody = [](const DeviceIdentity&) { return Status(); };
  secagg::Server server = must(secagg::Server::make(parameters, 1, anybody));
  std::vector<Device> devices(cohort.devices);
  Prng prng(1);
  for (Device& device : devices) {
    Bytes key(32);
    for (uint8_t& byte : key) byte = static_cast<uint8_t>(prng.next());
    device.signer = must(make_signer(KeyAlgorithm::ed25519, key));
    device.client = must(secagg::Client::make(parameters, Secret<32>(std::span(key).first<32>()),
                                              {.signer = device.signer.get(), .certificate = {}}, anybody));
    must(server.receive(device.client->advert()));
  }
  must(server.close_adverts());

  for (Device& device : devices) device.place = *server.device_of(device.signer->public_key());
  if (server.phase() == secagg::Server::Phase::choosing) {
    for (Device& device : devices) must(server.receive(must(device.client->choose(server.slot(device.place)))));
    must(server.close_choices());
  }

  double client_s = 0;  // of the first device
  const auto timed = [&](const Device& device, auto step) {
    const double begin = thread_cpu_seconds();
    auto answer = must(step());
    if (&device == devices.data()) client_s += thread_cpu_seconds() - begin;
    return answer;
  };
  for (Device& device : devices) {
    const RosterView view = server.view(device.place);
    must(server.receive(timed(device, [&] { return device.client->share(view); })));
  }
  must(server.close_shares());

  const auto dropped = static_cast<uint32_t>(cohort.devices * cohort.dropped_share);
  const uint64_t lane_count = secagg::masked_lane_count(parameters);
  std::vector<uint32_t> lanes(lane_count);
  for (uint32_t i = 0; i < cohort.devices - dropped; ++i) {
    const ShareInbox inbox = must(server.inbox(devices[i].place));
    const secagg::Masking masking = timed(devices[i], [&] { return devices[i].client->mask(inbox); });
    if (i == 0) {  // the others' masks are as long
      const double begin = thread_cpu_seconds();
      masking.apply(std::span(lanes));
      client_s += thread_cpu_seconds() - begin;
    }
    must(server.receive(masking.head()));
  }
  must(server.close_inputs());
  if (parameters.is_active()) {
    for (uint32_t i = 0; i < cohort.devices - dropped; ++i) {
      must(server.receive(must(devices[i].client->confirm(must(server.confirm_request(devices[i].place))))));
    }
    must(server.close_confirmations());
  }
  for (uint32_t i = 0; i < cohort.devices - dropped; ++i) {
    must(server.receive(must(devices[i].client->unmask(must(server.unmask_request(devices[i].place))))));
  }

  const double begin = thread_cpu_seconds();
  const secagg::OpenedMasks opened = must(server.opening().open());
  const MaskSum masks = must(secagg::to_mask_sum(parameters.suite, opened.masks));
  masks.apply(0, std::span(lanes));
  const double server_s = thread_cpu_seconds() - begin;

  const auto neighbours = static_cast<double>(server.view(devices[0].place).entries.size() - 1);
  const double vector_s = static_cast<double>(lane_count) * 4 * primitives.stream_byte;
  const double agreements = static_cast<double>(opened.masks.size()) - (cohort.devices - dropped);
  const double client_limit = (neighbours + 1) * vector_s + 2 * neighbours * primitives.agreement +
                              (parameters.is_active() ? neighbours * primitives.verification : 0);
  const double server_limit = static_cast<double>(opened.masks.size()) * vector_s + agreements * primitives.agreement;
  std::printf(
      "{\"bench\":\"session\",\"level\":\"%s\",\"devices\":%u,\"neighbours\":%.0f,\"threshold\":%u,\"lanes\":%llu,"
      "\"dropped\":%u,\"client_ms\":%.2f,\"client_limit_ms\":%.2f,\"server_s\":%.3f,\"server_limit_s\":%.3f}\n",
      std::string(to_string(cohort.level)).c_str(), cohort.devices, neighbours, server.shape().threshold,
      static_cast<unsigned long long>(cohort.lanes), dropped, client_s * 1e3, client_limit * 1e3, server_s,
      server_limit);
  std::fflush(stdout);
}

}  // namespace

int main() {
  const Primitives primitives = measure_primitives();
  measure({SecurityLevel::masked, 1000, .1, .3, 100'000}, primitives);
  for (const uint64_t lanes : {1'000'000, 10'000'000}) {
    measure({SecurityLevel::masked, 1000, .1, .3, lanes}, primitives);
    measure({SecurityLevel::masked, 1000, .1, .3, lanes, .3}, primitives);
  }
  measure({SecurityLevel::active, 255, .3, .1, 100'000}, primitives);
  measure({SecurityLevel::active, 1000, .1, .1, 100'000}, primitives);
}
