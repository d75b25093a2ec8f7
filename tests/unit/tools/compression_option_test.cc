#include "tools/demo/compression_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::HasSubstr;

TEST(CompressionOption, ReadsKindsAndTheirSettings) {
  const auto read = [](const char* text) { return *parse_compression(text); };
  EXPECT_EQ(read("quantized:bits=6"), (CompressionSettings{.bits = 6}));
  EXPECT_EQ(read("eden:bits=2"), (CompressionSettings{.kind = CompressionKind::eden, .bits = 2}));
  EXPECT_EQ(read("top_k"), (CompressionSettings{.kind = CompressionKind::top_k, .bits = 32}));
  EXPECT_EQ(read("top_k:share=0.05,bits=8,error_feedback=false"),
            (CompressionSettings{.kind = CompressionKind::top_k, .bits = 8, .share = 0.05, .error_feedback = false}));
  for (const char* text : {"", "drive", "eden", "eden:", "eden:bits", "eden:bits=0", "eden:bits=2,", "eden:share=0.1",
                           "quantized", "top_k:share=2", "top_k:share=x", "top_k:error_feedback=1", "top_k:bits=8,,"}) {
    EXPECT_ERROR(parse_compression(text), ErrorCode::invalid_argument, "");
  }
}

TEST(CompressionOption, SaysWhatItDoesNotGoWith) {
  DemoOptions options;
  options.security = SecurityLevel::none;
  options.compression = {.kind = CompressionKind::eden, .bits = 1};
  EXPECT_OK(check_compression(options));
  options.security = SecurityLevel::masked;
  EXPECT_ERROR(check_compression(options), ErrorCode::invalid_argument, "--compression eden needs --security none");
  options.compression = {.bits = 6};
  EXPECT_OK(check_compression(options));
  options.security = SecurityLevel::none;
  options.compression = {.kind = CompressionKind::top_k, .bits = 32};
  options.clip = 1;
  EXPECT_ERROR(check_compression(options), ErrorCode::invalid_argument, "does not go with --clip");
  options.compression.error_feedback = false;
  EXPECT_OK(check_compression(options));
  options.noise_multiplier = 1;
  EXPECT_ERROR(check_compression(options), ErrorCode::invalid_argument, "does not go with noise");
  options.noise_multiplier.reset();
  options.strategy = find_strategy("feddyn");
  ASSERT_NE(options.strategy, nullptr);
  EXPECT_ERROR(check_compression(options), ErrorCode::invalid_argument, "does not go with --strategy feddyn");
}

TEST(CompressionOption, SaysWhatAnUpdateIs) {
  DemoOptions options;
  EXPECT_EQ(compression_text(options), "");
  options.compression = {.kind = CompressionKind::eden, .bits = 1};
  EXPECT_THAT(compression_text(options), HasSubstr("1 bit a value"));
  options.compression = {.kind = CompressionKind::top_k, .bits = 32};
  EXPECT_THAT(compression_text(options),
              HasSubstr("the largest 10 % of the values, of 32 bits; devices keep the rest"));
}

}  // namespace
}  // namespace coterie
