#include "tools/crop/crop_needs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "proto/messages/model.h"
#include "proto/messages/plan.h"
#include "train_kernels/fft_tiles.h"

namespace coterie {
namespace {

constexpr size_t kColumns = 100;  // of a list's line
constexpr size_t kNamesShown = 5;

std::optional<ConvolutionWay> way_from(std::string_view name) {
  const auto* const way = std::ranges::find(kConvolutionWays, name, [](ConvolutionWay w) { return to_string(w); });
  return way == std::end(kConvolutionWays) ? std::nullopt : std::optional(*way);
}

std::optional<OpKind> op_from(std::string_view name) {
  for (size_t i = 1; i <= kOpKinds; ++i) {
    if (to_string(static_cast<OpKind>(i)) == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

// The first two dimensions of its kernel; 0 if the graph does not say.
std::array<int64_t, 2> kernel_of(const ModelGraph& graph, const OpInfo& op) {
  if (op.inputs.size() < 2 || op.inputs[1] >= graph.tensors.size()) return {};
  const Shape& weight = graph.tensors[op.inputs[1]].shape;
  return weight.size() < 2 ? std::array<int64_t, 2>{} : std::array{weight[0], weight[1]};
}

// Those that the op may take, whatever the size of its image.
std::vector<ConvolutionWay> ways_of(const ModelGraph& graph, const OpInfo& op) {
  using enum ConvolutionWay;
  if (op.kind == OpKind::conv_transpose2d) return {std::begin(kConvolutionWays), std::end(kConvolutionWays)};
  if (op.kind != OpKind::conv2d) return {};
  const auto [height, width] = kernel_of(graph, op);
  std::vector<ConvolutionWay> ways;
  const auto* const attributes = std::get_if<Conv2dAttributes>(&op.attributes);
  if (attributes != nullptr && attributes->groups > 1) ways = {depthwise};
  else if (height == 3 && width == 3) ways = {winograd, winograd_4x4};
  if (std::min(height, width) >= static_cast<int64_t>(kernels::kFftKernelMin)) ways.push_back(fft);
  return ways;
}

// Words in lines.
void add_words(std::string& text, const std::vector<std::string>& words) {
  size_t columns = 0;
  for (const std::string& word : words) {
    const bool fits = columns + 1 + word.size() <= kColumns;
    if (columns != 0) text += fits ? ' ' : '\n';
    columns = (columns != 0 && fits ? columns + 1 : 0) + word.size();
    text += word;
  }
  if (!words.empty()) text += '\n';
}

// Without comments, each of which ends with its line.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::string_view whole_line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole_line.size() + 1));
    std::string_view line = whole_line.substr(0, whole_line.find('#'));
    constexpr std::string_view kBlanks = " \t\r\v\f";
    while ((line = line.substr(std::min(line.size(), line.find_first_not_of(kBlanks)))), !line.empty()) {
      words.push_back(line.substr(0, line.find_first_of(kBlanks)));
      line.remove_prefix(words.back().size());
    }
  }
  return words;
}

// Whoever has no AVX2 has no AVX-512.
std::set<BuildFeature> with_what_follows(std::set<BuildFeature> without) {
  if (without.contains(BuildFeature::avx2)) without.insert(BuildFeature::avx512);
  return without;
}

template <typename Needed, typename Has>
void add_missing(const Needed& needed, Has has, std::vector<std::string>& names) {
  for (const auto& one : needed) {
    if (!has(one)) names.emplace_back(to_string(one));
  }
}

}  // namespace

std::string_view to_string(ConvolutionWay way) {
  switch (way) {
    case ConvolutionWay::depthwise: return "depthwise";
    case ConvolutionWay::fft: return "fft";
    case ConvolutionWay::winograd: return "winograd";
    case ConvolutionWay::winograd_4x4: return "winograd_4x4";
  }
  return "unknown";
}

std::string_view to_string(BuildFeature feature) {
  switch (feature) {
    case BuildFeature::augmentation: return "augmentation";
    case BuildFeature::avx2: return "avx2";
    case BuildFeature::avx512: return "avx512";
    case BuildFeature::bf16: return "bf16";
    case BuildFeature::channels: return "channels";
    case BuildFeature::delegates: return "delegates";
    case BuildFeature::early_stopping: return "early_stopping";
    case BuildFeature::encryption: return "encryption";
    case BuildFeature::heads: return "heads";
    case BuildFeature::joined_steps: return "joined_steps";
    case BuildFeature::loss_scaling: return "loss_scaling";
    case BuildFeature::memory_limit: return "memory_limit";
    case BuildFeature::qat: return "qat";
    case BuildFeature::soft_labels: return "soft_labels";
    case BuildFeature::threads: return "threads";
    case BuildFeature::waves: return "waves";
  }
  return "unknown";
}

std::optional<BuildFeature> build_feature_from(std::string_view name) {
  const auto* const found = std::ranges::find(kBuildFeatures, name, [](BuildFeature f) { return to_string(f); });
  return found == std::end(kBuildFeatures) ? std::nullopt : std::optional(*found);
}

std::vector<std::string> left_out_by(const CropNeeds& needs) {
  std::vector<std::string> names;
  for (const ConvolutionWay way : kConvolutionWays) {
    if (!needs.ways.contains(way)) names.emplace_back(to_string(way));
  }
  for (const BuildFeature feature : with_what_follows(needs.without)) names.emplace_back(to_string(feature));
  std::ranges::sort(names);
  return names;
}

void CropNeeds::add(const ModelGraph& graph) {
  for (const OpInfo& op : graph.ops) {
    ++ops[op.kind];
    for (const ConvolutionWay way : ways_of(graph, op)) ++ways[way];
  }
}

bool has_convolution(const CropNeeds& needs) {
  return needs.ops.contains(OpKind::conv2d) || needs.ops.contains(OpKind::conv_transpose2d);
}

std::string crop_list_text(const CropNeeds& needs, std::string_view comment) {
  std::string text = "# " + std::string(comment) + "\n";
  std::vector<std::string> ops, others, left_out;
  for (const auto& [kind, count] : needs.ops) ops.emplace_back(to_string(kind));
  for (const Loss loss : needs.losses) others.emplace_back(to_string(loss));
  for (const OptimizerKind kind : needs.optimizers) others.emplace_back(to_string(kind));
  for (const ConvolutionWay way : kConvolutionWays) {
    if (has_convolution(needs) && !needs.ways.contains(way)) left_out.push_back("-" + std::string(to_string(way)));
  }
  for (const BuildFeature feature : needs.without) left_out.push_back("-" + std::string(to_string(feature)));
  add_words(text, ops);
  add_words(text, others);
  add_words(text, left_out);
  return text;
}

Result<CropNeeds> read_crop_list(std::string_view text) {
  if (text.size() > kCropListBytesMax) {
    return Error(ErrorCode::invalid_argument, "a list of ops has at most " + std::to_string(kCropListBytesMax) +
                                                  " bytes, this one " + std::to_string(text.size()));
  }
  CropNeeds list;
  std::set<ConvolutionWay> left_out;
  std::vector<std::string_view> unknown;
  for (const std::string_view word : words_of(text)) {
    if (const auto kind = op_from(word)) list.ops[*kind] = 1;
    else if (const auto loss = loss_from(word)) list.losses.insert(*loss);
    else if (const auto optimizer = optimizer_from(word)) list.optimizers.insert(*optimizer);
    else if (const auto way = way_from(word.substr(1)); way && word.front() == '-') left_out.insert(*way);
    else if (const auto feature = build_feature_from(word.substr(1)); feature && word.front() == '-') {
      list.without.insert(*feature);
    } else {
      unknown.push_back(word);
    }
  }
  if (!unknown.empty()) {
    std::string names;
    for (const std::string_view word : std::span(unknown).first(std::min(unknown.size(), kNamesShown))) {
      names += (names.empty() ? "" : ", ") + std::string(word.substr(0, 40));
    }
    return Error(ErrorCode::invalid_argument, "no op, loss or optimizer, and nothing to leave out: " + names);
  }
  if (list.ops.empty()) return Error(ErrorCode::invalid_argument, "no op is named");
  if (left_out.contains(ConvolutionWay::winograd)) left_out.insert(ConvolutionWay::winograd_4x4);
  list.without = with_what_follows(std::move(list.without));
  for (const ConvolutionWay way : kConvolutionWays) {
    if (has_convolution(list) && !left_out.contains(way)) list.ways[way] = 1;
  }
  return list;
}

std::vector<std::string> missing_in_list(const CropNeeds& needed, const CropNeeds& list) {
  std::vector<std::string> names;
  for (const auto& [kind, count] : needed.ops) {
    if (!list.ops.contains(kind)) names.emplace_back(to_string(kind));
  }
  const auto is_class_loss = [](Loss loss) {
    return loss == Loss::softmax_cross_entropy || loss == Loss::negative_log_likelihood;
  };
  add_missing(
      needed.losses, [&](Loss l) { return is_class_loss(l) || list.losses.contains(l); }, names);
  add_missing(
      needed.optimizers, [&](OptimizerKind k) { return k == OptimizerKind::sgd || list.optimizers.contains(k); },
      names);
  return names;
}

}  // namespace coterie
