#include "device_sdk/runtime/channels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text/concat.h"
#include "base/text/name_pattern.h"
#include "device_sdk/runtime/parse_number.h"

namespace coterie {
namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"channels: ", what})); }

Result<ChannelRange> range_in(const TensorInfo& tensor, const ChannelUpdate& update) {
  const auto channels = static_cast<uint32_t>(tensor.shape.empty() ? 1 : tensor.shape.back());
  if (update.fraction > 0) {
    const double wanted = std::ceil(update.fraction * channels);
    return ChannelRange{0, std::min(channels, static_cast<uint32_t>(wanted))};
  }
  if (update.last >= channels) {
    return bad(concat({tensor.name, " has ", channels, " channels, there is no ", update.last}));
  }
  return ChannelRange{update.first, update.last - update.first + 1};
}

bool is_in_range(const ChannelUpdate& update) {
  return update.fraction > 0 ? update.fraction <= 1 : update.fraction == 0 && update.first <= update.last;
}

void describe(const ChannelMatrix& m, SettingsText& text) {
  text.add("first", m.range.first).add("count", m.range.count);
}

void run_take(const Step& step, const StepContext&) {
  const auto& m = step.as<ChannelMatrix>();
  const auto& [whole, narrow] = step.take<2>();
  for (size_t i = 0; i < m.rows; ++i) {
    std::memcpy(narrow + i * m.range.count, whole + i * m.width + m.range.first, m.range.count * sizeof(float));
  }
}

constexpr StepKindOf<ChannelMatrix> kTakeStep{"channels.take", run_take, describe};

void run_put(const Step& step, const StepContext&) {
  const auto& m = step.as<ChannelMatrix>();
  const auto& [narrow, whole] = step.take<2>();
  for (size_t i = 0; i < m.rows; ++i) {
    std::memcpy(whole + i * m.width + m.range.first, narrow + i * m.range.count, m.range.count * sizeof(float));
  }
}

constexpr StepKindOf<ChannelMatrix> kPutStep{"channels.put", run_put, describe};

}  // namespace

Result<ChannelUpdate> parse_channels(std::string_view text) {
  const Error wrong = bad(concat({"must be PATTERN:FIRST-LAST or PATTERN:PERCENT%, is ", text}));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong;
  ChannelUpdate update{.pattern = std::string(text.substr(0, colon))};
  const std::string_view which = text.substr(colon + 1);
  if (which.ends_with('%')) {
    if (!parse_number(which.substr(0, which.size() - 1), update.fraction)) return wrong;
    update.fraction /= 100;
    return update.fraction > 0 && is_in_range(update) ? Result<ChannelUpdate>(update) : wrong;
  }
  const size_t dash = which.find('-');
  if (dash == std::string_view::npos || !parse_number(which.substr(0, dash), update.first) ||
      !parse_number(which.substr(dash + 1), update.last) || !is_in_range(update)) {
    return wrong;
  }
  return update;
}

Result<std::vector<ChannelRange>> channel_ranges(const ModelGraph& graph, const std::vector<ChannelUpdate>& updates) {
  std::vector<ChannelRange> ranges(graph.tensors.size());
  for (const ChannelUpdate& update : updates) {
    if (!is_in_range(update))
      return bad(concat({"those of ", update.pattern, " must be first to last, or a part in (0, 1]"}));
    bool found = false;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
      const TensorInfo& tensor = graph.tensors[i];
      if (tensor.role != TensorRole::parameter || !name_matches(update.pattern, tensor.name)) continue;
      found = true;
      // The first pattern that matches counts.
      if (!ranges[i].is_all()) continue;
      COT_ASSIGN(ranges[i], range_in(tensor, update));
    }
    if (!found) return bad(concat({update.pattern, " matches no parameter of the model"}));
  }
  return ranges;
}

ChannelMatrix channel_matrix(const Shape& shape, ChannelRange range) {
  const size_t width = shape.empty() ? 1 : static_cast<size_t>(shape.back());
  size_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= static_cast<size_t>(shape[i]);
  return {rows, width, range};
}

void emit_take_channels(Program& program, Phase phase, const ChannelMatrix& matrix, BufferId whole, BufferId narrow) {
  program.emit(phase, kTakeStep, matrix, {whole, narrow});
}

void emit_put_channels(Program& program, Phase phase, const ChannelMatrix& matrix, BufferId narrow, BufferId whole) {
  program.emit(phase, kPutStep, matrix, {narrow, whole});
}

}  // namespace coterie
