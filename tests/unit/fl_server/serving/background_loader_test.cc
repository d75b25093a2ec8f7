#include "fl_server/serving/background_loader.h"

#include <gtest/gtest.h>

#include <semaphore>

#include "fl_server/serving/model_server.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

TEST(BackgroundLoader, TellsWhatBecameOfEachVersionOnce) {
  test::MemoryBlobStore blobs;
  const Bytes file = *make_model(ModelKind::logistic, {2, 2, 1}, 3, 1);
  const Digest stored = *blobs.put(file), garbage = *blobs.put(as_bytes("no model"));
  const Metrics metrics("test");
  ModelServer server({.workers = 1, .batch_max = 1}, metrics);
  std::counting_semaphore<> ended(0);
  BackgroundLoader loader(blobs, file.size(), server, [&] { ended.release(); });
  EXPECT_FALSE(loader.take()) << "nothing was begun";
  const auto load = [&](uint64_t version, const Digest& digest) {
    loader.begin({"a", version, false}, digest, nullptr);
    ended.acquire();
    return *loader.take();
  };
  const auto version = load(4, stored);
  ASSERT_OK(version);
  EXPECT_EQ((*version)->number(), 4u);
  EXPECT_EQ((*version)->digest(), stored);
  EXPECT_FALSE(loader.take()) << "it was told";
  EXPECT_TRUE(server.models().empty()) << "who began it says when it answers";
  EXPECT_ERROR(load(5, garbage), ErrorCode::malformed, "");
  EXPECT_ERROR(load(6, Digest{}), ErrorCode::not_found, "");
  const Digest large = *blobs.put(Bytes(file.size() + 1));
  EXPECT_ERROR(load(7, large), ErrorCode::too_large, "");
  loader.begin({"a", 8, false}, stored, nullptr);
  loader.stop();
  EXPECT_TRUE(loader.take()) << "what was under way ends";
}

}  // namespace
}  // namespace coterie
