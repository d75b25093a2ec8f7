#include "secure/crypto/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "secure/crypto/random.h"

namespace coterie {
namespace {

using Key = Secret<32>;

Bytes counting() {
  Bytes bytes(32);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i + 1);
  return bytes;
}

Key counting_key() { return Key(std::span<const uint8_t, 32>(counting())); }
Bytes bytes_of(const Key& key) { return Bytes(key.reveal().begin(), key.reveal().end()); }

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };

static_assert(!std::is_copy_constructible_v<Key> && !std::is_copy_assignable_v<Key>);
static_assert(!Printable<Key>);

TEST(Secret, BeginsAsZerosAndHoldsWhatItIsGiven) {
  EXPECT_EQ(bytes_of(Key()), Bytes(32));
  EXPECT_EQ(bytes_of(counting_key()), counting());
}

TEST(Secret, LeavesNothingBehindWhenItIsMovedFrom) {
  Key first = counting_key();
  Key second = std::move(first);
  EXPECT_EQ(bytes_of(second), counting());
  EXPECT_EQ(bytes_of(first), Bytes(32)) << "move construction";
  Key third;
  third = std::move(second);
  EXPECT_EQ(bytes_of(third), counting());
  EXPECT_EQ(bytes_of(second), Bytes(32)) << "move assignment";
  Key& itself = third;
  third = std::move(itself);
  EXPECT_EQ(bytes_of(third), counting()) << "to itself";
}

// Looks at the memory where a secret lived.
TEST(Secret, WipesItsMemoryWhenItIsDestroyed) {
  auto key = std::make_unique<Key>(std::span<const uint8_t, 32>(counting()));
  const volatile uint8_t* const memory = key->reveal().data();
  ASSERT_EQ(memory[0], 1);
  key.reset();
  for (size_t i = 0; i < Key::kSize; ++i) EXPECT_EQ(memory[i], 0) << "byte " << i;
}

TEST(Secret, WipesWhatItHeldWhenItIsAssignedTo) {
  Key key = counting_key();
  const volatile uint8_t* const memory = key.reveal().data();
  key = Key();
  for (size_t i = 0; i < Key::kSize; ++i) EXPECT_EQ(memory[i], 0) << "byte " << i;
}

// A vector of secrets that grows must not strew their bytes.
TEST(Secret, StaysWhereItIsWhileItIsMovedAbout) {
  Key key = counting_key();
  const uint8_t* const memory = key.reveal().data();
  std::vector<Key> keys;
  keys.push_back(std::move(key));
  for (int i = 0; i < 100; ++i) keys.emplace_back();
  EXPECT_EQ(keys[0].reveal().data(), memory);
}

TEST(Secret, LivesInLockedMemory) {
  const size_t before = locked_memory().slots_used;
  Key key = counting_key();
  const Key nothing;
  EXPECT_EQ(locked_memory().slots_used, before + 1) << "zeros need no memory";
  { const Key moved = std::move(key); }
  EXPECT_EQ(locked_memory().slots_used, before);
}

TEST(Wipe, OverwritesEveryByte) {
  Bytes bytes = counting();
  wipe(bytes);
  EXPECT_EQ(bytes, Bytes(32));
  wipe({});
}

TEST(EqualInConstantTime, ComparesSizeAndContent) {
  EXPECT_TRUE(equal_in_constant_time({}, {}));
  EXPECT_TRUE(equal_in_constant_time(counting(), counting()));
  EXPECT_FALSE(equal_in_constant_time(counting(), ByteView(counting()).first(31)));
  Bytes other = counting();
  other[31] ^= 1;
  EXPECT_FALSE(equal_in_constant_time(counting(), other));
}

TEST(RandomBytes, HaveTheAskedLengthAndDoNotRepeat) {
  for (const size_t size : {0u, 1u, 16u, 100u}) EXPECT_EQ(random_bytes(size).size(), size);
  std::set<Bytes> seen;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(random_bytes(16)).second) << "once in 2^114";
  EXPECT_NE(random_u64(), random_u64()) << "once in 2^64";
}

}  // namespace
}  // namespace coterie
