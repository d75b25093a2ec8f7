#include "tools/crop/client_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

constexpr const char* kMap =
    "             VMA              LMA     Size Align Out     In      Symbol\n"
    "             318              318       60     8 .rela.dyn\n"
    "             318              318       60     8         <internal>:(.rela.dyn)\n"
    "             400              400       10     1 .rodata\n"
    "             400              400       10     1         <internal>:(.rodata.str1.1)\n"
    "            1000             1000      1a0    16 .text\n"
    "            1000             1000      100    16         train_kernels/libcoterie_train_kernels.a(dense.cc.o):"
    "(.text._ZN7coterie7kernels6N_AVX24rowsEv)\n"
    "            1000             1000      100     1                 coterie::kernels::N_AVX2::rows()\n"
    "            1100             1100       40    16         train_kernels/libcoterie_train_kernels.a(dense.cc.o):"
    "(.text._ZN7coterie7kernels4tailEv)\n"
    "            1140             1140       20    16         device_sdk/runtime/libcoterie_runtime.a(dense.cc.o):"
    "(.text._ZN7coterie5inferEv)\n"
    "            1160             1160       30    16         device_sdk/runtime/libcoterie_runtime.a(trainer.cc.o):"
    "(.text._ZN7coterie4stepEv)\n"
    "            1190             1190       10    16         tests/footprint/train.cc.o:(.text.main)\n"
    "            2000             2000      500     8 .bss\n"
    "            2000             2000      500     8         base/libcoterie_base.a(log.cc.o):(.bss.all)\n";

TEST(ClientParts, AreWhatAPersonKnowsThemAs) {
  const Result<std::vector<LinkedPiece>> pieces = read_link_map(kMap);
  ASSERT_OK(pieces);
  const ClientParts parts = parts_of(*pieces, {"dense"});
  EXPECT_EQ(parts.kernels.at("dense").at("avx2"), 0x100u);
  EXPECT_EQ(parts.kernels.at("dense").at("common"), 0x40u);
  EXPECT_EQ(parts.rules.at("dense"), 0x20u);
  EXPECT_EQ(parts.others.at("runtime"), 0x30u);
  EXPECT_EQ(parts.others.at("program"), 0x10u);
  EXPECT_EQ(parts.others.at("relocations"), 0x60u);
  EXPECT_EQ(parts.others.at("texts and constants"), 0x10u);
  EXPECT_FALSE(parts.others.contains("base")) << "zeroed memory takes no room in the file";
  EXPECT_EQ(parts.bytes(), 0x210u);
}

TEST(ClientParts, AMapOfAnotherLinkerIsRefused) {
  EXPECT_ERROR(read_link_map("Archive member included\n"), ErrorCode::malformed, "not one of lld's");
  EXPECT_ERROR(read_link_map(""), ErrorCode::malformed, "not one of lld's");
  const Result<std::vector<LinkedPiece>> cut = read_link_map("VMA Symbol\n 1 2 zz\n      1   2   3\n");
  ASSERT_OK(cut);
  EXPECT_TRUE(cut->empty());
}

}  // namespace
}  // namespace coterie
