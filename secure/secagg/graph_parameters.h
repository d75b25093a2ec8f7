// Degree and threshold of a secure aggregation: with how many others a device masks its update and shares its secrets,
// and how many of those must help before a secret can be opened.
//
// Source: Bell, Bonawitz, Gascón, Lepoint, Raykova, "Secure Single-Server Aggregation with (Poly)Logarithmic
// Overhead", CCS 2020 (ePrint 2020/704), sections 3.2 and 3.5: a k-regular graph, laid out at random, in which
// but with probability 2^-40
//   * the honest survivors are connected, and
//   * no device has t corrupt neighbours (masked), nor t + t of both kinds of shares in corrupt and deceived hands
//   (active);
// and in which but with probability 2^-20 every device has t neighbours that survive. Parties are drawn without
// replacement, so neighbours are hypergeometric.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace coterie::secagg {

enum class Adversary : uint8_t {
  curious_server,  // follows the protocol, reads what it gets, and has corrupt devices
  active_server,  // may tell different devices different things: k + corrupt < 2 t, so that it never gets both kinds of
                  // shares
};

struct GraphNeeds {
  uint32_t cohort_size = 0;  // [2, kCohortSizeMax]
  double corrupt_share = 0;  // of the cohort, [0, 1): they and the server put together what they know
  double dropout_share = 0;  // of the cohort, [0, 1): vanish, independently of who their neighbours are
  Adversary adversary = Adversary::curious_server;
};

struct GraphParameters {
  uint32_t degree = 0;     // neighbours of a device
  uint32_t threshold = 0;  // shares that open a secret
  bool operator==(const GraphParameters&) const = default;
};

inline constexpr uint32_t kCohortSizeMax = 10'000;

// The least even degree that does, with the least threshold. invalid_argument: needs out of range, or no sparse graph
// does, as with few devices and many of them lost: then a complete graph may.
Result<GraphParameters> sparse_graph(const GraphNeeds& needs);

// Everybody with everybody, each holding a share of its own secrets too, and threshold 2 n / 3 + 1: no corrupt third
// ever has enough, whatever the server does, with certainty. For cohorts of at most kCompleteCohortMax, the shares that
// GF(2^8) has.
Result<GraphParameters> complete_graph(uint32_t cohort_size);

inline constexpr uint32_t kCompleteCohortMax = 255;

}  // namespace coterie::secagg
