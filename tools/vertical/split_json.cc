#include "tools/vertical/split_json.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace coterie {
namespace {

using namespace vertical;

constexpr std::array<std::string_view, kSplitNetworks> kNetworks = {"mlp", "wide_deep", "deepfm", "two_tower"};
constexpr std::array<std::string_view, kCutEncodings> kEncodings = {"float32", "int8", "bit1"};
constexpr std::array<std::string_view, kGradientProtections> kProtections = {"none", "max_norm", "marvell"};
constexpr std::array<std::string_view, 2> kOptimizers = {"sgd", "adam"};

template <typename Choice, size_t kCount>
void read_one_of(JsonReader& reader, const char* key, const std::array<std::string_view, kCount>& names,
                 Choice& value) {
  size_t chosen = static_cast<size_t>(value);
  reader.read_choice(key, names, chosen);
  value = static_cast<Choice>(chosen);
}

}  // namespace

void read_split(JsonReader& reader, SplitSettings& split) {
  JsonReader from = reader.object("split");
  read_one_of(from, "network", kNetworks, split.network);
  from.read("hidden", split.hidden);
  from.read("cut", split.cut);
  from.read("top", split.top);
  from.read("embedding", split.embedding);
  from.read("buckets", split.buckets);
  from.read("epochs", split.epochs);
  from.read("batch", split.batch);
  from.read("shuffle", split.shuffle);
  read_one_of(from, "optimizer", kOptimizers, split.is_adam);
  from.read("rate", split.rate);
  from.read("in_flight", split.in_flight);
  from.read("commit_steps", split.commit_steps);
  read_one_of(from, "activations", kEncodings, split.activations);
  read_one_of(from, "gradients", kEncodings, split.gradients);
  read_one_of(from, "protection", kProtections, split.protection);
  from.read("label_epsilon", split.label_epsilon);
  from.read("activation_clip", split.activation_clip);
  from.read("activation_noise", split.activation_noise);
  from.finish();
}

nlohmann::ordered_json split_json(const SplitSettings& split) {
  return {{"network", split_network_name(split.network)},
          {"hidden", split.hidden},
          {"cut", split.cut},
          {"top", split.top},
          {"embedding", split.embedding},
          {"buckets", split.buckets},
          {"epochs", split.epochs},
          {"batch", split.batch},
          {"shuffle", split.shuffle},
          {"optimizer", kOptimizers[split.is_adam ? 1 : 0]},
          {"rate", split.rate},
          {"in_flight", split.in_flight},
          {"commit_steps", split.commit_steps},
          {"activations", cut_encoding_name(split.activations)},
          {"gradients", cut_encoding_name(split.gradients)},
          {"protection", gradient_protection_name(split.protection)},
          {"label_epsilon", split.label_epsilon},
          {"activation_clip", split.activation_clip},
          {"activation_noise", split.activation_noise}};
}

}  // namespace coterie
