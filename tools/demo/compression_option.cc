#include "tools/demo/compression_option.h"

#include <algorithm>
#include <charconv>

#include "secure/dp/account/number_words.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Status read_compression_setting(std::string_view text, CompressionSettings& compression) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals == text.npos ? std::string_view() : text.substr(equals + 1);
  const bool is_top_k = compression.kind == CompressionKind::top_k;
  const auto bad = [](const std::string& what) { return Error(ErrorCode::invalid_argument, what); };
  if (name == "bits") {
    if (!read_number(value, compression.bits) || compression.bits < 1 || compression.bits > 32) {
      return bad("bits must be a number from 1 to 32");
    }
    return {};
  }
  if (name == "share" && is_top_k) {
    if (!read_number(value, compression.share) || !(compression.share >= kTopKShareMin && compression.share <= 1)) {
      return bad("share must be in [0.001, 1]");
    }
    return {};
  }
  if (name == "error_feedback" && is_top_k) {
    if (value != "true" && value != "false") return bad("error_feedback must be true or false");
    compression.error_feedback = value == "true";
    return {};
  }
  return bad(std::string(to_string(compression.kind)) + " has no setting " + std::string(name));
}

}  // namespace

Result<CompressionSettings> parse_compression(std::string_view text) {
  const size_t colon = text.find(':');
  const std::optional<CompressionKind> kind = compression_from(text.substr(0, colon));
  if (!kind) {
    return Error(ErrorCode::invalid_argument, "must be one of quantized, top_k, eden, perhaps with :SETTING=VALUE,...");
  }
  CompressionSettings compression{.kind = *kind, .bits = default_bits(*kind)};
  for (size_t at = colon; at < text.size();) {
    const size_t comma = std::min(text.find(',', at + 1), text.size());
    COT_TRY(read_compression_setting(text.substr(at + 1, comma - at - 1), compression));
    at = comma;
  }
  if (compression.bits == 0) {
    return Error(ErrorCode::invalid_argument, std::string(to_string(*kind)) + " needs bits, such as " +
                                                  std::string(to_string(*kind)) +
                                                  ":bits=" + (*kind == CompressionKind::eden ? "1" : "6"));
  }
  return compression;
}

std::string compression_words(const CompressionSettings& compression) {
  if (compression.kind == CompressionKind::quantized) return "--update-bits";
  return "--compression " + std::string(to_string(compression.kind));
}

Status check_compression(const DemoOptions& options) {
  const CompressionSettings& compression = options.compression;
  if (!compression.is_on()) return {};
  const std::string name = compression_words(compression);
  const auto bad = [&](const std::string& why) { return Error(ErrorCode::invalid_argument, name + why); };
  if (options.has_noise()) {
    return bad(
        " does not go with noise: at active_dp updates are of few bits already, and the server's noise is made "
        "for updates that are not rounded");
  }
  if (options.strategy->correction != CorrectionKind::none) {
    return bad(" does not go with --strategy " + std::string(options.strategy->name) +
               ": its state has to move by what devices keep, not by what is left of it");
  }
  if (compression.kind != CompressionKind::quantized && options.security != SecurityLevel::none) {
    return bad(
        " needs --security none: masks hide updates that all devices encode alike, and this makes one of each "
        "device's own. Behind masks take --update-bits");
  }
  if (compression.keeps_residual() && options.clip) {
    return bad(
        " does not go with --clip: it would cut what devices carry over again in each round; leave it out, or "
        "say error_feedback=false");
  }
  return {};
}

std::string compression_text(const DemoOptions& options) {
  const CompressionSettings& compression = options.compression;
  const std::string bits = std::to_string(compression.bits) + (compression.bits == 1 ? " bit" : " bits");
  switch (compression.kind) {
    case CompressionKind::quantized: {
      if (!compression.is_on()) return {};
      const std::string clip =
          options.clip ? format_fixed(*options.clip, 3) : format_fixed(options.clip_l2().value_or(0), 0);
      return bits + " a value, clipped to " + clip + (options.clip ? "" : ", as --clip was not given");
    }
    case CompressionKind::eden: return bits + " a value, each update on a grid of its own (eden)";
    case CompressionKind::top_k:
      return "the largest " + number_words(100 * compression.share) + " % of the values, of " + bits +
             (compression.error_feedback ? "; devices keep the rest" : "; the rest is lost");
  }
  return {};
}

}  // namespace coterie
