// The matching against what libsodium and Python said of the same ids.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/unit/vertical/psi_pair.h"
#include "vertical/psi/blinding.h"

namespace coterie::test {
namespace {

using namespace vertical;

nlohmann::json psi_references() {
  std::ifstream file(source_dir() + "/../shared/vectors/vertical/psi_refs.json");
  return file ? nlohmann::json::parse(file, nullptr, false) : nlohmann::json();
}

TEST(PsiVectors, EqualsTheReferenceVectors) {
  const nlohmann::json refs = psi_references();
  if (!refs.is_object()) GTEST_SKIP() << "SKIPPED: no ../shared/vectors/vertical/psi_refs.json";
  const auto scalar = [&](const char* name) {
    const Bytes bytes = *from_hex(refs[name].get<std::string>());
    return RistrettoScalar(std::span<const uint8_t, 32>(bytes));
  };
  const RistrettoScalar a = scalar("key_a"), b = scalar("key_b");
  ASSERT_EQ(refs["vectors"].size(), 6u);
  for (const nlohmann::json& vector : refs["vectors"]) {
    const RistrettoElement point = psi_element({}, vector["id"].get<std::string>());
    EXPECT_EQ(to_hex(point.view()), vector["point"].get<std::string>());
    EXPECT_EQ(to_hex(ristretto_multiply(a, point)->view()), vector["mask_a"].get<std::string>());
    EXPECT_EQ(to_hex(ristretto_multiply(b, *ristretto_multiply(a, point))->view()),
              vector["mask_ab"].get<std::string>());
    EXPECT_EQ(to_hex(ristretto_multiply(a, *ristretto_multiply(b, point))->view()),
              vector["mask_ab"].get<std::string>());
  }
}

TEST(PsiVectors, EqualsTheReferenceSets) {
  const nlohmann::json refs = psi_references();
  if (!refs.is_object()) GTEST_SKIP() << "SKIPPED: no ../shared/vectors/vertical/psi_refs.json";
  ASSERT_EQ(refs["sets"].size(), 4u);
  for (const nlohmann::json& set : refs["sets"]) {
    const auto x = numbered_ids(set["n"].get<uint32_t>());
    const auto y = numbered_ids(set["m"].get<uint32_t>(), set["step"].get<uint32_t>());
    PsiPair pair(x, y, psi_settings(20'000));
    ASSERT_OK(pair.run());
    std::string joined;
    for (const std::string& id : shared_ids(pair, x, y)) joined += (joined.empty() ? "" : "\n") + id;
    EXPECT_EQ(pair.label->outcome().count, set["size"].get<uint64_t>());
    EXPECT_EQ(sha256(as_bytes(joined)).hex(), set["sha256_sorted_newline"].get<std::string>());
  }
}

}  // namespace
}  // namespace coterie::test
