#include "tools/data/federate.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/os/file.h"
#include "model_io/contract_targets.h"
#include "secure/crypto/digest.h"
#include "tools/data/feature_shift.h"
#include "tools/data/load.h"
#include "tools/data/target_scale.h"

namespace coterie {
namespace {

constexpr uint64_t kAssignmentBytesMax = 1 << 28;

// Which examples are held out, and who has the others where a file says so. Asked once, before the encoding is fitted,
// or where nothing is fitted, behind the load.
class Divider {
 public:
  // Reads the file that says who has what, if there is one.
  static Result<Divider> make(const FederateOptions& options) {
    Divider divider(options);
    if (options.split.kind == SplitKind::file) {
      COT_ASSIGN(divider.assignment_file_, os::read_file(options.split.name, kAssignmentBytesMax));
    }
    return divider;
  }

  // All that divide() decides by beside the data.
  std::string name() const {
    char held_out[40] = "by the source";
    if (options_.held_out) std::snprintf(held_out, sizeof held_out, "%a", *options_.held_out);
    return "held out " + std::string(held_out) + ", seed " + std::to_string(options_.seed) + ", file " +
           (options_.split.kind == SplitKind::file ? content_digest(assignment_file_).hex() : "none");
  }

  Result<Indices> divide(std::span<const int32_t> labels, size_t examples, bool has_own_test_part) {
    if (options_.split.kind == SplitKind::file) {
      COT_TRY(read_assignment(examples));
    }
    is_divided_ = true;
    if (assignment_ && assignment_->holds_out) {
      for (uint32_t i = 0; i < examples; ++i) {
        const uint32_t device = assignment_->devices[i];
        if (device == ShardAssignment::kHeldOut) parts_.held_out.push_back(i);
        else if (device != ShardAssignment::kNobody) parts_.training.push_back(i);
      }
      return parts_.training;
    }
    const double fraction = options_.held_out.value_or(has_own_test_part ? 0 : kHeldOutFraction);
    const std::vector<int32_t> alike(labels.empty() ? examples : 0);
    parts_ = hold_out(labels.empty() ? alike : labels, fraction, options_.seed);
    if (parts_.held_out.empty() && fraction > 0) {
      return Error(ErrorCode::invalid_argument, "the data has too few examples to hold some out: " +
                                                    std::to_string(examples) + "; --held-out 0 holds out none");
    }
    if (assignment_) {
      std::erase_if(parts_.training, [&](uint32_t i) { return assignment_->devices[i] == ShardAssignment::kNobody; });
    }
    return parts_.training;
  }

  bool is_divided() const { return is_divided_; }
  const HeldOut& parts() const { return parts_; }

  // Fills in the shards and their groups.
  Status share_out(FederatedData& data, std::span<const std::string> groups) const {
    if (assignment_) {
      Result<std::vector<Indices>> shards = partition_as_assigned(*assignment_, parts_.training);
      if (!shards) return shards.error().with_context(options_.split.name);
      data.shards = std::move(*shards);
    } else if (options_.split.kind == SplitKind::group) {
      COT_ASSIGN(Groups made, partition_by_group(parts_.training, groups, options_.devices, options_.seed));
      data.shards = std::move(made.shards);
      data.groups = std::move(made.names);
    } else {
      const uint32_t devices = options_.devices == 0 ? kDevicesDefault : options_.devices;
      COT_ASSIGN(data.shards,
                 partition(options_.split, parts_.training, data.examples.labels(), devices, options_.seed));
    }
    if (options_.devices > 0 && data.shards.size() != options_.devices) {
      return Error(ErrorCode::invalid_argument, options_.split.name + " names " + std::to_string(data.shards.size()) +
                                                    " devices, not the " + std::to_string(options_.devices) +
                                                    " of --devices");
    }
    if (data.shards.size() <= kShardDevicesMax) return {};
    return Error(ErrorCode::too_large, "the split has " + std::to_string(data.shards.size()) + " devices, at most " +
                                           std::to_string(kShardDevicesMax) + "; --devices deals groups out to fewer");
  }

 private:
  explicit Divider(const FederateOptions& options) : options_(options) {}

  Status read_assignment(size_t examples) {
    Result<ShardAssignment> assignment = parse_assignment(as_text(assignment_file_), examples);
    if (!assignment) return assignment.error().with_context(options_.split.name);
    assignment_ = std::move(*assignment);
    return {};
  }

  const FederateOptions& options_;
  Bytes assignment_file_;
  HeldOut parts_;
  std::optional<ShardAssignment> assignment_;
  bool is_divided_ = false;
};

// JSON is UTF-8: names in another encoding would come back as other names.
Status check_texts(const InputContract& contract, const std::string& source) {
  const Result<InputContract> again = parse_contract(to_json_text(contract));
  if (again && *again == contract) return {};
  return Error(ErrorCode::malformed, source +
                                         ": its names and categories are not UTF-8; iconv -f latin1 -t utf-8 "
                                         "converts a file that is in Latin-1");
}

}  // namespace

ExampleTable FederatedData::shard(uint32_t device) const {
  ExampleTable shard = examples_of(examples, shards[device]);
  shift_features(shard, split, device, static_cast<uint32_t>(shards.size()), seed);
  return shard;
}

Result<FederatedData> federate(const FederateOptions& asked) {
  FederateOptions options = asked;
  COT_ASSIGN(Divider divider, Divider::make(options));
  LoadRequest request;
  request.fit_name = divider.name();
  request.fit = [&divider](std::span<const int32_t> labels, size_t examples, bool has_test_part) {
    return divider.divide(labels, examples, has_test_part);
  };
  if (options.split.kind == SplitKind::group) request.group = options.split.name;
  COT_ASSIGN(TrainingData loaded, load_data(options.source, request));
  const DatasetHeader& header = loaded.examples.header;
  if (loaded.contract.kind == "text" && loaded.examples.labels().empty()) {
    return Error(ErrorCode::invalid_argument,
                 "a text is shared out with one target an example: text:FILE?target=last&length=40");
  }
  COT_TRY(check_texts(loaded.contract, options.source));
  const bool has_no_class = loaded.contract.target.is_number || has_several_targets(loaded.contract);
  if (has_no_class && options.split_of_numbers) options.split = *options.split_of_numbers;
  const bool goes_by_class = options.split.kind == SplitKind::turned || options.split.kind == SplitKind::dirichlet ||
                             options.split.kind == SplitKind::shards;
  if (goes_by_class) COT_TRY(check_one_target(loaded.contract, "split " + to_string(options.split)));
  COT_TRY(check_shift(options.split, header));
  const bool has_own_test_part = loaded.held_out.has_value();
  if (!divider.is_divided()) {
    COT_TRY(divider.divide(loaded.examples.labels(), loaded.examples.size(), has_own_test_part));
  }
  // With a contract of before the target is what that says.
  ContractTarget& target = loaded.contract.target;
  if (target.is_number && !loaded.is_by_contract) {
    fit_target(loaded.examples, divider.parts().training, target);
    standardise_target(target, loaded.examples);
    if (loaded.held_out) standardise_target(target, *loaded.held_out);
  }
  FederatedData data;
  data.split = options.split;
  data.seed = options.seed;
  data.contract = std::move(loaded.contract);
  data.notes = std::move(loaded.notes);
  data.examples = std::move(loaded.examples);
  COT_TRY(divider.share_out(data, loaded.groups));
  if (!divider.parts().held_out.empty()) {
    data.held_out = examples_of(data.examples, divider.parts().held_out);
    if (has_own_test_part) data.notes.push_back("the source's own test part is left out, as --held-out was given");
  } else if (options.held_out.value_or(1) > 0) {
    data.held_out = std::move(loaded.held_out);
  }
  return data;
}

}  // namespace coterie
