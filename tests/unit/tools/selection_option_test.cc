#include "tools/demo/selection_option.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(SelectionOption, IsARuleAndItsSettings) {
  EXPECT_EQ(parse_selection("uniform").value(), SelectionSettings());
  EXPECT_EQ(parse_selection("power_of_choice").value(), SelectionSettings::of("power_of_choice"));
  EXPECT_EQ(parse_selection("utility:exploration=0.5,ratio_max=8").value(),
            SelectionSettings::of("utility").with("exploration", 0.5f).with("ratio_max", 8));
  for (const char* text : {"", "oort", "uniform:exploration=1", "utility:exploration",
                           "utility:exploration=", "utility:exploration=0", "utility:ratio_max=2,", "utility:"}) {
    EXPECT_ERROR(parse_selection(text), ErrorCode::invalid_argument, "") << text;
  }
}

}  // namespace
}  // namespace coterie
