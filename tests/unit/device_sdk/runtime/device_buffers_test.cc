// What a part has of its device's memory.
#include "device_sdk/runtime/delegate/device_buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/runtime/heap_memory.h"

namespace coterie::test {
namespace {

// It computes nothing: its memory alone is asked for.
struct MemoryDelegate final : Delegate {
  MemoryDomain domain = MemoryDomain::device;
  HeapMemory heap;
  bool has_memory = true;

  DelegateTraits traits() const override { return {.name = "memory", .version = "1", .domain = domain}; }
  std::string refusal(const DelegateGraph&, uint32_t) const override { return "it computes nothing"; }
  Result<std::unique_ptr<CompiledPart>> compile(const DelegatePart&) override {
    return Error(ErrorCode::unavailable, "it computes nothing");
  }
  DeviceMemory* memory() override { return has_memory ? &heap : nullptr; }
};

using Pointers = std::vector<void*>;

Pointers pointers_of(const DeviceBuffers& buffers) { return {buffers.pointers().begin(), buffers.pointers().end()}; }

TEST(DeviceBuffers, AreReleasedOnceTheLastOneFirst) {
  MemoryDelegate delegate;
  Pointers made;
  {
    const Result<DeviceBuffers> buffers = DeviceBuffers::create(delegate, {3, 1, 2});
    ASSERT_OK(buffers);
    made = pointers_of(*buffers);
    EXPECT_EQ(delegate.heap.allocated.size(), 3u);
  }
  std::ranges::reverse(made);
  EXPECT_EQ(delegate.heap.released, made);
  EXPECT_TRUE(delegate.heap.allocated.empty());
}

TEST(DeviceBuffers, MoveWithoutAReleaseAndGoWhereOthersCome) {
  MemoryDelegate delegate;
  Result<DeviceBuffers> first = DeviceBuffers::create(delegate, {1, 2}), second = DeviceBuffers::create(delegate, {4});
  ASSERT_OK(first);
  ASSERT_OK(second);
  Pointers old = pointers_of(*first);
  const Pointers kept = pointers_of(*second);
  DeviceBuffers moved = std::move(*first);
  EXPECT_EQ(pointers_of(moved), old);
  EXPECT_TRUE(first->empty());
  EXPECT_TRUE(delegate.heap.released.empty());
  moved = std::move(*second);
  std::ranges::reverse(old);
  EXPECT_EQ(delegate.heap.released, old);
  EXPECT_EQ(pointers_of(moved), kept);
  moved = DeviceBuffers();
  EXPECT_TRUE(delegate.heap.allocated.empty());
}

TEST(DeviceBuffers, OfADeviceThatIsFullGoBack) {
  for (const bool gives_null : {false, true}) {
    SCOPED_TRACE(gives_null);
    MemoryDelegate delegate;
    delegate.heap.allocations_max = 2;
    delegate.heap.gives_null = gives_null;
    const Result<DeviceBuffers> buffers = DeviceBuffers::create(delegate, {1, 2, 3});
    if (gives_null) EXPECT_ERROR(buffers, ErrorCode::refused, "no buffer of 12 bytes");
    else EXPECT_ERROR(buffers, ErrorCode::too_large, "full");
    EXPECT_TRUE(delegate.heap.allocated.empty());
    EXPECT_EQ(delegate.heap.released.size(), 2u);
  }
}

TEST(DeviceBuffers, AreAllReleasedWhereReleasingThrows) {
  MemoryDelegate delegate;
  delegate.heap.throws_on_release = true;
  ASSERT_OK(DeviceBuffers::create(delegate, {1, 2, 3}));  // and gone
  EXPECT_EQ(delegate.heap.released.size(), 3u);
  EXPECT_TRUE(delegate.heap.allocated.empty());
}

TEST(DeviceBuffers, AreNoneOfTheHostAndNeedTheDevicesMemory) {
  MemoryDelegate delegate;
  delegate.has_memory = false;
  EXPECT_ERROR(DeviceBuffers::create(delegate, {1}), ErrorCode::refused, "it has no memory");
  delegate.domain = MemoryDomain::host;
  const Result<DeviceBuffers> buffers = DeviceBuffers::create(delegate, {1, 2});
  ASSERT_OK(buffers);
  EXPECT_TRUE(buffers->empty());
}

TEST(DeviceBuffers, CopyThereAndBackAndCountIt) {
  MemoryDelegate delegate;
  Result<DeviceBuffers> buffers = DeviceBuffers::create(delegate, {2, 1, 3});
  ASSERT_OK(buffers);
  std::vector<float> a = {1, 2}, b = {3}, c = {4, 5, 6};
  const std::vector<float> first = c;
  float* const host[] = {a.data(), b.data(), c.data()};
  BorderCopies copies;
  ASSERT_OK(buffers->write(1, 3, host, copies));
  EXPECT_EQ(copies.copies, 2u);
  EXPECT_EQ(copies.bytes, 16u);
  std::ranges::fill(c, 0.0f);
  ASSERT_OK(buffers->read(2, 3, host, copies));
  EXPECT_EQ(c, first);
  EXPECT_EQ(copies.copies, 3u);
  EXPECT_EQ(copies.bytes, 28u);
  EXPECT_EQ(copies.runs, 0u) << "the callers' to count";
}

}  // namespace
}  // namespace coterie::test
