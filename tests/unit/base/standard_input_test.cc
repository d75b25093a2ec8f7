#include "base/os/standard_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tests/support/matchers.h"

namespace coterie::os {
namespace {

// Standard input is what is written to a pipe while it lives.
class StandardInput : public testing::Test {
 protected:
  StandardInput() : before_(::dup(STDIN_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    write_end_ = ends[1];
  }
  ~StandardInput() override {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  // In parts, then its end.
  Result<Bytes> read(const std::string& text, size_t parts, uint64_t bytes_max) {
    std::thread writer([&] {
      for (size_t i = 0; i < parts; ++i) {
        if (::write(write_end_, text.data(), text.size()) < 0) break;
      }
      ::close(write_end_);
    });
    Result<Bytes> bytes = read_standard_input(bytes_max);
    writer.join();
    return bytes;
  }

 private:
  int before_, write_end_ = -1;
};

TEST_F(StandardInput, IsReadToItsEnd) {
  const Result<Bytes> bytes = read(std::string(5'000, 'x'), 12, 60'000);
  ASSERT_OK(bytes);
  EXPECT_EQ(as_text(*bytes), std::string(60'000, 'x'));
}

TEST_F(StandardInput, MayBeEmpty) {
  const Result<Bytes> bytes = read("", 0, 10);
  ASSERT_OK(bytes);
  EXPECT_TRUE(bytes->empty());
}

TEST_F(StandardInput, IsReadNoFurtherThanItsLimit) {
  EXPECT_ERROR(read("eleven byte", 1, 10), ErrorCode::too_large, "standard input has more than 10 bytes");
}

}  // namespace
}  // namespace coterie::os
