#include "base/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace coterie {
namespace {

TEST(Cpu, LevelsAreOrderedFromLeastToMost) {
  EXPECT_LT(SimdLevel::baseline, SimdLevel::avx2);
  EXPECT_LT(SimdLevel::avx2, SimdLevel::avx512);
}

#if COT_HAS_X86_TARGETS
// What the kernel says of this CPU is an independent witness.
TEST(Cpu, ClaimsNothingTheKernelDoesNotList) {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line) && !line.starts_with("flags")) continue;
  if (!line.starts_with("flags")) GTEST_SKIP() << "no flags line in /proc/cpuinfo";
  line += ' ';
  const auto has = [&](const char* flag) { return line.find(std::string(" ") + flag + " ") != std::string::npos; };
  const bool avx2 = has("avx2") && has("fma");
  const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  EXPECT_EQ(cpu_simd_level(), avx512 ? SimdLevel::avx512 : avx2 ? SimdLevel::avx2 : SimdLevel::baseline);
}
#else
TEST(Cpu, HasNoVersionsOffX86) { EXPECT_EQ(cpu_simd_level(), SimdLevel::baseline); }
#endif

}  // namespace
}  // namespace coterie
