// Who gets which examples: a held-out part, and one shard a device. Pure: the same arguments give the same answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

using Indices = std::vector<uint32_t>;

struct HeldOut {
  Indices training;
  Indices held_out;
};

// Draws `fraction` of each class (rounded) as the held-out part; both parts are in the order of the data. Where there
// are no classes, labels of 0 make it a part of all.
HeldOut hold_out(std::span<const int32_t> labels, double fraction, uint64_t seed);

// How the examples are shared out.
//   iid               shuffled and dealt: every device sees the same world
//   dirichlet:ALPHA   of each class, the devices' shares are drawn from Dirichlet(alpha): devices differ in what they
//                     know and in how much. The smaller alpha, the more (0.1: nearly one class a device; 100: nearly
//                     iid). After Hsu, Qi and Brown 2019 (who draw for each device which classes it knows), in the
//                     per-class form of Yurochkin et al. 2019.
//   shards:K          sorted by class and cut into devices x K pieces, of which each device gets K by chance: it knows
//                     about K classes. McMahan et al. 2017.
//   quantity:ALPHA    shuffled; the devices' sizes are drawn from Dirichlet(alpha): the same world, in unlike amounts.
//                     Li et al. 2022 (Federated Learning on Non-IID Data Silos).
//   feature:noise     as iid; device i of n adds Gaussian noise of deviation SIGMA * i / n to its inputs (Li et al.
//                     2022). feature:noise:SIGMA; 0.5 unless given
//   feature:rotate    as iid; the devices turn their images by angles from -DEGREES to DEGREES, evenly.
//                     feature:rotate:DEGREES; 45 unless given
//   labels:turned     as iid; device d is of group d mod GROUPS, and group g has class (c + g * classes / GROUPS) mod
//                     classes for what is of class c: no one model is right for two groups. labels:turned:GROUPS; 2
//                     unless given
//   group:COLUMN      a device for each value of the column, which is then no input; with fewer devices than values,
//                     the values are dealt out to them
//   file:FILE         line i of the file is the device of example i, counted from 1, or "held-out", or "-" for none
enum class SplitKind : uint8_t { iid, dirichlet, shards, quantity, noise, rotate, turned, group, file };

struct DataSplit {
  SplitKind kind = SplitKind::iid;
  double value = 0;       // alpha, K, sigma or degrees
  std::string name = {};  // of the column or of the file
  bool is_by_chance() const { return kind != SplitKind::group && kind != SplitKind::file; }
};

inline constexpr const char* kSplitNames =
    "iid, dirichlet:ALPHA, shards:K, quantity:ALPHA, feature:noise, feature:rotate, labels:turned, group:COLUMN or "
    "file:FILE";

// "iid", "dirichlet:0.3", ...; alpha in (0, 1e6], K in [1, 1000], sigma in (0, 100], degrees in (0, 180]. Errors:
// invalid_argument.
Result<DataSplit> parse_split(std::string_view text);
std::string to_string(const DataSplit& split);

inline constexpr size_t kShardExamplesMin = 2;

// One list of `examples` a device; every example is in exactly one, every device has at least kShardExamplesMin. Splits
// by classes need `labels`, which are otherwise not looked at. Precondition: split.is_by_chance(). Errors:
// invalid_argument (too few examples for so many devices; no classes to split by).
Result<std::vector<Indices>> partition(const DataSplit& split, const Indices& examples, std::span<const int32_t> labels,
                                       uint32_t devices, uint64_t seed);

// The devices of split group:COLUMN.
struct Groups {
  std::vector<Indices> shards;
  std::vector<std::string> names;  // of each shard: its group, or how many it has
};
// `values`: of each example, its group. devices 0: one a group, in the order of comes_before. Errors: invalid_argument
// (more devices than groups, a group with fewer examples than kShardExamplesMin).
Result<Groups> partition_by_group(const Indices& examples, std::span<const std::string> values, uint32_t devices,
                                  uint64_t seed);

// The devices of split file:FILE.
struct ShardAssignment {
  static constexpr uint32_t kNobody = 0, kHeldOut = UINT32_MAX;
  std::vector<uint32_t> devices;  // of each example: counted from 1, or one of these
  uint32_t count = 0;             // the highest device
  bool holds_out = false;         // some line says so
};
// `text`: one word a line, as many lines as there are examples. Errors name the line: malformed; invalid_argument
// (another number of lines).
Result<ShardAssignment> parse_assignment(std::string_view text, size_t examples);
// Errors: invalid_argument (a device with fewer examples than kShardExamplesMin).
Result<std::vector<Indices>> partition_as_assigned(const ShardAssignment& assignment, const Indices& examples);

}  // namespace coterie
