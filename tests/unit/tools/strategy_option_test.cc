#include "tools/demo/strategy_option.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tools/demo/options.h"

namespace coterie {
namespace {

TEST(StrategyOption, IsANameAndANumber) {
  EXPECT_EQ(parse_strategy_setting("q=0.5").value(), std::pair(std::string("q"), 0.5f));
  EXPECT_EQ(parse_strategy_setting("norm_max=1e3").value(), std::pair(std::string("norm_max"), 1000.0f));
  for (const char* text : {"", "q", "=1", "q=", "q=x", "q=1x", "q=nan", "q=inf", "q=1e99", "q =1 "}) {
    EXPECT_ERROR(parse_strategy_setting(text), ErrorCode::invalid_argument, "is no setting") << text;
  }
}

TEST(StrategyOption, RefusesWhatTheStrategyHasNotOrCannotGoWith) {
  DemoOptions options;
  const auto with = [&](const char* strategy, std::vector<std::pair<std::string, float>> settings) {
    options = {};
    options.strategy = find_strategy(strategy);
    options.strategy_settings = std::move(settings);
    return check_strategy(options);
  };
  EXPECT_OK(with("qffl", {{"q", 2}, {"loss_max", 5}}));
  EXPECT_ERROR(with("qffl", {{"p", 2}}), ErrorCode::invalid_argument, "it has server_learning_rate, q, loss_max");
  EXPECT_ERROR(with("qffl", {{"q", 11}}), ErrorCode::invalid_argument, "q must be in [0, 10]");
  EXPECT_ERROR(with("afl", {{"groups", 1}}), ErrorCode::invalid_argument, "groups must be a whole number in [2, 8]");
  EXPECT_OK(with("scaffold", {{"option", 1}}));
  options.momentum = 0.9;
  EXPECT_OK(check_strategy(options)) << "its control is no mean of steps";
  options.strategy_settings = {};
  EXPECT_ERROR(check_strategy(options), ErrorCode::invalid_argument, "option=1 takes them");
  EXPECT_OK(with("mime_lite", {{"momentum", 0.5f}}));
  options.momentum = 0.9;
  EXPECT_ERROR(check_strategy(options), ErrorCode::invalid_argument, "the momentum is the server's");
  for (const char* name : {"fedexp", "qffl", "mime_lite", "scaffold", "afl"}) {
    EXPECT_OK(with(name, {}));
    options.noise_multiplier = 1;
    EXPECT_ERROR(check_strategy(options), ErrorCode::invalid_argument, "does not go with noise") << name;
  }
}

}  // namespace
}  // namespace coterie
