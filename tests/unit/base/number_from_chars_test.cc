// What stands in where the library has no std::from_chars of floats, beside the one that this library has.
#include "base/text/number_from_chars.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/random.h"

namespace coterie {
namespace {

template <typename Float>
void expect_same(const std::string& text) {
  SCOPED_TRACE("'" + text + "'");
  const char *const first = text.data(), *const last = first + text.size();
  Float expected = 7, found = 7;
  const auto library = std::from_chars(first, last, expected);
  const auto ours = float_by_strtod(first, last, found);
  EXPECT_EQ(ours.ec, library.ec);
  EXPECT_EQ(ours.ptr - first, library.ptr - first);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found));
  } else {
    EXPECT_EQ(found, expected);
    EXPECT_EQ(std::signbit(found), std::signbit(expected));
  }
}

TEST(NumberFromChars, ReadsFloatsAsTheLibraryDoes) {
  Prng prng(1);
  constexpr std::string_view kLetters = "0123456789012345678901234567890.eE+-.nifaNIx ";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t left = prng.below(14); left > 0; --left) text += kLetters[prng.below(kLetters.size())];
    if (i % 4 == 0)
      text = "-1." + std::to_string(prng.below(1'000'000)) + "e" + (i % 8 == 0 ? "" : "-") +
             std::to_string(prng.below(330));
    expect_same<double>(text);
    expect_same<float>(text);
  }
}

TEST(NumberFromChars, ReadsWholeNumbersToo) {
  const std::string text = "17 and more";
  int number = 0;
  EXPECT_EQ(number_from_chars(text.data(), text.data() + text.size(), number).ptr, text.data() + 2);
  EXPECT_EQ(number, 17);
}

}  // namespace
}  // namespace coterie
