// What a data cache keeps is believed only if it is whole, and never changes a bit of what is loaded.
#include "tools/data_cache/data_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/checksum/crc32c.h"
#include "base/os/file.h"
#include "device_sdk/runtime/dataset_source.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/image_files.h"
#include "tests/unit/tools/npy_files.h"
#include "tools/data/federate.h"
#include "tools/data/load.h"
#include "tools/data_cache/cached_load.h"
#include "tools/data_cache/process_cache.h"
#include "tools/data_cache/stored_data.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const LoadAnew kNobody = [](SourceLog*) -> Result<TrainingData> {
  return Error(ErrorCode::unavailable, "nobody was to make this anew");
};

class DataCacheTest : public testing::Test {
 protected:
  DataCacheTest() {
    std::string text = "age,job,grade,who\n";
    for (int i = 0; i < 60; ++i) {
      text += std::to_string(20 + i % 7) + (i % 3 == 0 ? ",cook," : ",nurse,") + (i % 4 == 0 ? "a" : "b") + ",p" +
              std::to_string(i % 5) + "\n";
    }
    put("t.csv", as_bytes(text));
  }
  ~DataCacheTest() override { use_data_cache({}); }

  void put(const std::string& name, ByteView bytes) { EXPECT_OK(os::write_file_atomically(directory_ / name, bytes)); }
  std::string csv() const { return "csv:" + directory_ / "t.csv?target=grade"; }
  std::string folder() const { return directory_ / "cache"; }
  std::unique_ptr<DataCache> open(uint64_t bytes_max = kDataCacheBytesMaxDefault) {
    auto cache =
        DataCache::open({.directory = folder(), .bytes_max = bytes_max, .say = [this](const std::string& what) {
                           said_.push_back(what);
                         }});
    EXPECT_OK(cache);
    return std::move(*cache);
  }
  // As load_data does where the process has this cache.
  static Result<TrainingData> load(DataCache& cache, const std::string& text) {
    return load_from(cache, text, {}, [&text](SourceLog* sources) {
      return load_data(text, {.sources = sources, .may_be_cached = false});
    });
  }
  static TrainingData without(const std::string& text) {
    auto data = load_data(text, {.may_be_cached = false});
    EXPECT_OK(data);
    return std::move(*data);
  }
  std::string only_entry(const DataCache& cache) const {
    const auto entries = cache.entries();
    EXPECT_OK(entries);
    EXPECT_THAT(*entries, SizeIs(1));
    return folder() + "/" + entries->front().name;
  }
  static Digest key_of(int number) { return content_digest(as_bytes(std::to_string(number))); }
  static bool keep(DataCache& cache, int number, size_t bytes) {
    const Bytes block(bytes, static_cast<uint8_t>(number));
    const ByteView blocks[] = {block};
    return cache.keep(key_of(number), 5, blocks);
  }
  void set_used(int number, int seconds) {
    const timespec times[] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder() + "/" + key_of(number).hex() + ".entry").c_str(), times, 0), 0);
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
  std::vector<std::string> said_;
};

TEST_F(DataCacheTest, GivesTheSameBitsAsLoadingAnew) {
  const auto bytes_of = [](const std::string& text) { return Bytes(text.begin(), text.end()); };
  put("play.txt", bytes_of("anna and bob and anna again and once more"));
  put("x.npy", test::npy_file<float>("<f4", "(4, 2)", {1, 2, 3, 4, 5, 6, 7, 8}));
  put("y.npy", test::npy_file<int32_t>("<i4", "(4,)", {0, 1, 0, 1}));
  ASSERT_OK(os::make_directories(directory_ / "images/cats"));
  ASSERT_OK(os::make_directories(directory_ / "images/dogs"));
  put("images/cats/1.png", test::png_file({.height = 3, .width = 5, .left = {200, 30, 90}, .right = {10, 250, 60}}));
  put("images/dogs/1.png", test::png_file({.height = 3, .width = 5, .left = {0, 1, 2}, .right = {3, 4, 5}}));
  put("images/dogs/2.png", as_bytes("no picture"));
  const std::string pair = "npy:" + directory_ / "x.npy," + directory_ / "y.npy";
  const auto cache = open();
  uint64_t loads = 0;
  for (const std::string& text :
       {csv(), csv() + "&category=age", pair,
        pair + "?numbers=raw&test=" + directory_ / "x.npy," + directory_ / "y.npy", "images:" + directory_ / "images",
        "images:" + directory_ / "images?height=2&width=3&channels=1", "text:" + directory_ / "play.txt?length=4"}) {
    const TrainingData anew = without(text);
    const auto first = load(*cache, text);
    const auto second = load_from(*cache, text, {}, kNobody);
    ASSERT_OK(first) << text;
    ASSERT_OK(second) << text;
    EXPECT_TRUE(is_same(anew, *first)) << text;
    EXPECT_TRUE(is_same(anew, *second)) << text;
    // And as the file that a trainer maps.
    ASSERT_TRUE(second->examples_file) << text;
    EXPECT_EQ(*second->examples_file, ColumnBytes(dataset_file(anew.examples))) << text;
    EXPECT_EQ(second->held_out_file.has_value(), anew.held_out.has_value()) << text;
    const auto source = DatasetSource::over(second->examples_file->view(), second->examples_file->keeper());
    ASSERT_OK(source) << text;
    EXPECT_EQ(source->digest(), content_digest(dataset_file(anew.examples)));
    ++loads;
  }
  const CacheCounts counts = cache->counts();
  EXPECT_EQ(counts.hits, loads);
  EXPECT_EQ(counts.misses, loads);
  EXPECT_EQ(counts.stored, loads);
  EXPECT_EQ(counts.damaged, 0u);
  EXPECT_EQ(counts.bytes_read, counts.bytes_written);
  EXPECT_THAT(said_, SizeIs(0));
}

TEST_F(DataCacheTest, KnowsAFileByItsBytesAndEachOptionThatCounts) {
  const auto cache = open();
  ASSERT_OK(load(*cache, csv()));
  // The same bytes under another folder, and the same name.
  ASSERT_OK(os::make_directories(directory_ / "other"));
  put("other/t.csv", *os::read_file(directory_ / "t.csv", 1 << 20));
  EXPECT_OK(load_from(*cache, "csv:" + directory_ / "other/t.csv?target=grade", {}, kNobody));
  // Other bytes, another target, another fit, another group.
  put("other/t.csv", as_bytes("age,grade\n1,a\n2,b\n"));
  for (const std::string& text : {"csv:" + directory_ / "other/t.csv?target=grade", csv() + "&numbers=raw",
                                  "csv:" + directory_ / "t.csv?target=job"}) {
    EXPECT_ERROR(load_from(*cache, text, {}, kNobody), ErrorCode::unavailable, "") << text;
  }
  const FitPart half = [](std::span<const int32_t>, size_t, bool) -> Result<Indices> { return Indices{0, 1}; };
  EXPECT_ERROR(load_from(*cache, csv(), {.fit = half, .fit_name = "half"}, kNobody), ErrorCode::unavailable, "");
  EXPECT_ERROR(load_from(*cache, csv(), {.group = "who"}, kNobody), ErrorCode::unavailable, "");
  EXPECT_EQ(cache->counts().misses, 1u);
  // A fit that nobody names is not asked for.
  EXPECT_OK(
      load_from(*cache, csv(), {.fit = half}, [&](SourceLog*) { return load_data(csv(), {.may_be_cached = false}); }));
  EXPECT_THAT(*cache->entries(), SizeIs(1));
}

TEST_F(DataCacheTest, SharesOutTheSameShardsAndAsksNoFit) {
  for (const char* split : {"iid", "group:who"}) {
    FederateOptions options{.source = csv(), .split = *parse_split(split), .devices = 5, .seed = 3};
    use_data_cache({});
    const auto anew = federate(options);
    use_data_cache({.directory = folder()});
    const auto first = federate(options), second = federate(options);
    ASSERT_OK(anew);
    ASSERT_OK(first);
    ASSERT_OK(second);
    for (const FederatedData* data : {&*first, &*second}) {
      EXPECT_EQ(data->contract, anew->contract);
      EXPECT_EQ(data->shards, anew->shards);
      EXPECT_EQ(data->groups, anew->groups);
      EXPECT_EQ(data->held_out->columns, anew->held_out->columns);
      for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(dataset_file(data->shard(i)), dataset_file(anew->shard(i)));
    }
    EXPECT_TRUE(second->examples.columns[0].keeper()) << "a view of the entry";
  }
  const auto cache = open();
  EXPECT_EQ(cache->counts().hits, 2u);
  EXPECT_EQ(cache->counts().misses, 2u);
  // Another seed holds out others, and fits another scale.
  ASSERT_OK(federate({.source = csv(), .split = {}, .devices = 5, .seed = 4}));
  EXPECT_EQ(cache->counts().misses, 3u);
}

TEST_F(DataCacheTest, KeepsNothingOfFilesThatChangedMeanwhile) {
  const auto cache = open();
  const auto data = load_from(*cache, csv(), {}, [this](SourceLog* sources) {
    put("t.csv", as_bytes("age,grade\n1,a\n2,b\n"));  // between the digest and the read
    return load_data(csv(), {.sources = sources, .may_be_cached = false});
  });
  ASSERT_OK(data);
  EXPECT_EQ(data->examples.size(), 2u);
  EXPECT_THAT(*cache->entries(), SizeIs(0));
}

TEST_F(DataCacheTest, BelievesNoFileWithABitOrAByteLess) {
  const auto cache = open();
  const Digest key = key_of(1);
  const Bytes blocks[] = {Bytes(70, 1), Bytes(64, 2), Bytes(1, 3)};
  const std::vector<ByteView> views(std::begin(blocks), std::end(blocks));
  ASSERT_TRUE(cache->keep(key, 5, views));
  const Bytes good = *os::read_file(only_entry(*cache), 1 << 20);
  ASSERT_OK(parse_entry(good, key));
  EXPECT_THAT(parse_entry(good, key)->blocks, SizeIs(3));
  EXPECT_EQ(entry_bytes(views), good.size());
  EXPECT_FALSE(parse_entry(good, key_of(2))) << "of another key";
  for (size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(parse_entry(ByteView(good).first(size), key)) << size;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(parse_entry(longer, key));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ 1u << bit % 8);
    // That making took another time than it did is said under the head's checksum, too.
    ASSERT_FALSE(parse_entry(bad, key)) << bit;
  }
}

TEST_F(DataCacheTest, RefusesAHeadThatWasMadeToHarm) {
  const Digest key = key_of(1);
  const Bytes block(100, 7);
  const ByteView blocks[] = {block};
  const auto head = entry_head(key, 5, blocks);
  Bytes good(head.begin(), head.end());
  good.insert(good.end(), block.begin(), block.end());
  ASSERT_OK(parse_entry(good, key));
  // The field of so many bytes at this place gets this number, and the head a checksum that fits.
  const auto with = [&](size_t at, size_t bytes, uint64_t value) {
    Bytes bad = good;
    for (size_t i = 0; i < bytes; ++i) bad[at + i] = static_cast<uint8_t>(value >> (8 * i));
    const uint32_t crc = crc32c(ByteView(bad).first(156));
    for (size_t i = 0; i < 4; ++i) bad[156 + i] = static_cast<uint8_t>(crc >> (8 * i));
    return parse_entry(bad, key);
  };
  EXPECT_OK(with(64, 8, 192));
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{191}, uint64_t{256}, uint64_t{1} << 63, UINT64_MAX - 63, UINT64_MAX}) {
    EXPECT_FALSE(with(64, 8, value)) << "offset " << value;
    EXPECT_FALSE(with(72, 8, value)) << "bytes " << value;
    EXPECT_FALSE(with(48, 8, value)) << "file " << value;
    EXPECT_FALSE(with(80, 8, value | 1)) << "a second block " << value;
  }
  for (const uint32_t count : {0u, 2u, 4u, 5u, 1u << 31, UINT32_MAX}) EXPECT_FALSE(with(12, 4, count)) << count;
  EXPECT_ERROR(with(8, 4, 2), ErrorCode::unsupported_version, "version 2, expected 1");
}

TEST_F(DataCacheTest, MakesWhatIsDamagedAnew) {
  const auto cache = open();
  const TrainingData anew = without(csv());
  ASSERT_OK(load(*cache, csv()));
  const std::string path = only_entry(*cache);
  const Bytes good = *os::read_file(path, 1 << 20);
  uint64_t damaged = 0;
  // In the head, in the texts, in the examples; cut short; somebody else's; an entry whose blocks mean nothing.
  const ByteView nonsense[] = {as_bytes("{}"), as_bytes("COTF")};
  const Result<Digest> key = Digest::from_hex(path.substr(path.find_last_of('/') + 1, 64));
  for (int kind = 0; kind < 6; ++kind) {
    if (kind == 5) {
      ASSERT_OK(os::remove_file(path));
      ASSERT_TRUE(cache->keep(*key, 5, nonsense));
    } else {
      Bytes bad = good;
      if (kind == 3) bad.resize(bad.size() / 2);
      else bad[kind == 0 ? 20 : kind == 1 ? 200 : bad.size() - 1] ^= 0x10;
      if (kind == 4) bad = Bytes(300, 'x');
      ASSERT_OK(os::write_file_atomically(path, bad));
    }
    const auto data = load(*cache, csv());
    ASSERT_OK(data);
    EXPECT_TRUE(is_same(*data, anew)) << kind;
    EXPECT_EQ(cache->counts().damaged, ++damaged) << kind;
    EXPECT_OK(load_from(*cache, csv(), {}, kNobody)) << kind;
  }
}

// Opened, a FIFO would wait for a writer, and each command with it.
TEST_F(DataCacheTest, OpensNoFileThatIsNone) {
  const auto cache = open();
  ASSERT_OK(load(*cache, csv()));
  const std::string entry = only_entry(*cache), counts = folder() + "/data-cache.json";
  for (const std::string& path : {entry, counts}) {
    ASSERT_OK(os::remove_file(path));
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  }
  // Somebody has both ends: what opens one of them goes on, and is seen.
  const int writer = ::open(entry.c_str(), O_RDWR | O_CLOEXEC), other = ::open(counts.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_THAT(*cache->entries(), SizeIs(0));
  EXPECT_EQ(cache->counts().hits, 0u);
  const auto data = load(*cache, csv());
  ASSERT_OK(data);
  EXPECT_TRUE(is_same(*data, without(csv())));
  EXPECT_EQ(only_entry(*cache), entry);
  EXPECT_EQ(cache->counts().damaged, 1u);
  ::close(writer);
  ::close(other);
}

TEST_F(DataCacheTest, EvictsWhatWasUsedLongestAgoAndNothingInUse) {
  const auto cache = open(4000);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(keep(*cache, i, 1000));
    set_used(i, 100 + i);
  }
  set_used(0, 200);  // the newest by now
  std::optional<CachedEntry> held = cache->find(key_of(2));
  ASSERT_TRUE(held);
  set_used(2, 50);  // the oldest, but in use
  ASSERT_TRUE(keep(*cache, 3, 1000));
  EXPECT_FALSE(cache->find(key_of(1))) << "evicted";
  EXPECT_TRUE(cache->find(key_of(0)));
  ASSERT_TRUE(keep(*cache, 4, 2500));
  EXPECT_FALSE(cache->find(key_of(0)));
  EXPECT_FALSE(cache->find(key_of(3)));
  EXPECT_TRUE(cache->find(key_of(2))) << "still held";
  EXPECT_EQ(held->view.blocks[0][999], 2);
  EXPECT_EQ(cache->counts().evicted, 3u);
  EXPECT_THAT(said_, SizeIs(0));
  // Nothing gives way to what is too large, or to what everything in use leaves no room for.
  std::optional<CachedEntry> other = cache->find(key_of(4));
  EXPECT_FALSE(keep(*cache, 5, 1000));
  EXPECT_FALSE(keep(*cache, 6, 5000));
  EXPECT_EQ(cache->counts().not_stored, 2u);
  ASSERT_THAT(said_, SizeIs(1)) << "once";
  EXPECT_THAT(said_[0], HasSubstr("leave no room within 4000 bytes"));
  held.reset();
  other.reset();
  EXPECT_TRUE(keep(*cache, 5, 1000));
  EXPECT_EQ(*cache->clear(), 2u);
  EXPECT_THAT(*cache->entries(), SizeIs(0));
  EXPECT_EQ(cache->counts().hits, 0u);
}

TEST_F(DataCacheTest, MakesAnEntryOnceForThreadsThatWantIt) {
  const auto cache = open();
  const TrainingData anew = without(csv());
  std::atomic<int> made = 0, same = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto own = DataCache::open({.directory = folder()});  // as another process has it
      const auto data = load_from(**own, csv(), {}, [&](SourceLog* sources) {
        ++made;
        return load_data(csv(), {.sources = sources, .may_be_cached = false});
      });
      if (data && is_same(*data, anew)) ++same;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(same, 4);
  EXPECT_EQ(cache->counts().hits, 3u);
  EXPECT_EQ(cache->counts().misses, 1u);
}

TEST_F(DataCacheTest, SweepsWhatAKilledWriterLeft) {
  const auto cache = open();
  const std::string left = folder() + "/" + key_of(1).hex() + ".entry.unfinished.0";
  ASSERT_OK(os::write_file_atomically(left, as_bytes("half an ent")));
  EXPECT_FALSE(cache->find(key_of(1)));
  open();
  EXPECT_FALSE(os::exists(left));
  // One that somebody writes stays.
  auto writing = os::AtomicFile::create(folder() + "/" + key_of(2).hex() + ".entry");
  ASSERT_OK(writing);
  open();
  EXPECT_OK(writing->commit());
}

TEST_F(DataCacheTest, IsItsOwnersAlone) {
  const auto cache = open();
  ASSERT_OK(load(*cache, csv()));
  struct stat info {};
  ASSERT_EQ(::stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  const std::vector<std::string> names = *os::list_directory(folder());
  for (const std::string& name : names) {
    ASSERT_EQ(::stat((folder() + "/" + name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
  // An entry that others could have written is not read.
  const std::string path = only_entry(*cache);
  ASSERT_EQ(::chmod(path.c_str(), 0622), 0);
  EXPECT_ERROR(load_from(*cache, csv(), {}, kNobody), ErrorCode::unavailable, "");
  ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
  use_data_cache({.directory = folder()});
  EXPECT_ERROR(load_data(csv()), ErrorCode::permission_denied, "others may write to the data cache " + folder());
  ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
  if (::geteuid() == 0) {  // nobody else may give a folder away
    ASSERT_EQ(::chown(folder().c_str(), 12345, 12345), 0);
    EXPECT_ERROR(DataCache::open({.directory = folder()}), ErrorCode::permission_denied, "belongs to user 12345");
  }
  put("file", as_bytes(""));
  EXPECT_ERROR(DataCache::open({.directory = directory_ / "file"}), ErrorCode::conflict, "");
  // A device does not use it.
  std::vector<std::string> notes;
  EXPECT_OK(open_examples(csv(), notes));
}

TEST_F(DataCacheTest, GoesOnWithoutWhenTheDiskTakesNoMore) {
  const auto cache = open();
  // A file may have 200 bytes, and who writes more gets an error rather than a signal: as on a disk that is full.
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto first = load(*cache, csv()), second = load(*cache, csv());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  const TrainingData anew = without(csv());
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_TRUE(is_same(*first, anew));
  EXPECT_TRUE(is_same(*second, anew));
  ASSERT_THAT(said_, SizeIs(1)) << "once";
  EXPECT_THAT(said_[0], HasSubstr("keeps no more: cannot write"));
  const std::vector<std::string> names = *os::list_directory(folder());
  for (const std::string& name : names) EXPECT_THAT(name, testing::Not(HasSubstr("unfinished")));
}

}  // namespace
}  // namespace coterie
