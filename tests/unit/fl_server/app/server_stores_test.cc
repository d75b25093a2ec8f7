#include "fl_server/app/server_stores.h"

#include "base/os/file.h"
#include "fl_server/store/sql_training_store.h"
#include "tests/unit/fl_server/app/parts_world.h"

namespace coterie {
namespace {

class ServerStoresTest : public test::PartsWorld {
 protected:
  void SetUp() override {
    auto keys = ServerKeys::open(config_, os::wall_now());
    ASSERT_OK(keys);
    keys_ = std::move(*keys);
  }
  Result<std::unique_ptr<ServerStores>> stores() { return ServerStores::open(config_, keys_->data); }
  void be_in_a_fleet(std::string_view conninfo) {
    config_.store.engine = "postgres";
    config_.store.conninfo_file = directory_ / "conninfo";
    ASSERT_OK(os::write_file_atomically(config_.store.conninfo_file, as_bytes(conninfo)));
  }
};

TEST_F(ServerStoresTest, OfOneServerLieInItsDirectory) {
  {
    auto first = stores();
    ASSERT_OK(first);
    const auto jobs = (*first)->training().list_jobs();
    ASSERT_OK(jobs);
    EXPECT_TRUE(jobs->empty());
    EXPECT_EQ(&(*first)->accepts(), &static_cast<AcceptStore&>((*first)->training())) << "nobody else leads";
    EXPECT_EQ((*first)->fleet(), nullptr);
    EXPECT_EQ((*first)->leases(), nullptr);
    EXPECT_EQ((*first)->s3(), nullptr);
  }
  EXPECT_TRUE(os::exists(config_.data_dir + "/coterie.sqlite3"));
  EXPECT_TRUE(os::exists(config_.data_dir + "/blobs"));
  EXPECT_TRUE(os::exists(config_.data_dir + "/partials"));
  EXPECT_OK(stores()) << "what is there is opened again";
}

TEST_F(ServerStoresTest, KeepBlobsWhereTheConfigurationSays) {
  config_.blobs_dir = directory_ / "elsewhere";
  ASSERT_OK(stores());
  EXPECT_TRUE(os::exists(config_.blobs_dir + "/blobs"));
  EXPECT_FALSE(os::exists(config_.data_dir + "/blobs"));
}

TEST_F(ServerStoresTest, NameTheDatabaseFileThatIsNone) {
  ASSERT_OK(os::write_file_atomically(config_.data_dir + "/coterie.sqlite3", as_bytes("this is not a database, it is "
                                                                                      "a sentence in its place")));
  const auto opened = stores();
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("coterie.sqlite3"), std::string::npos) << opened.error().message();
}

TEST_F(ServerStoresTest, NameTheFileOfTheConnectionThatIsNotThere) {
  config_.store.engine = "postgres";
  config_.store.conninfo_file = directory_ / "no-such-conninfo";
  EXPECT_ERROR(stores(), ErrorCode::not_found, "no-such-conninfo");
}

TEST_F(ServerStoresTest, SayThatTheDatabaseDoesNotAnswer) {
  be_in_a_fleet("host=" + directory_.path() + " port=1 dbname=nobody\n");
  EXPECT_ERROR(stores(), ErrorCode::unavailable, "database: cannot connect");
}

TEST_F(ServerStoresTest, NameTheKeyFileOfABucketThatIsNotThere) {
  config_.blobs.s3.emplace();
  config_.blobs.access_key_id_file = directory_ / "no-such-id";
  config_.blobs.secret_key_file = directory_ / "no-such-secret";
  EXPECT_ERROR(stores(), ErrorCode::not_found, "no-such-id");
}

}  // namespace
}  // namespace coterie
