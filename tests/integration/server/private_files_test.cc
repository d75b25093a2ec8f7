// Who else may read what a server keeps: nobody, whoever made its directory.
#include <sys/stat.h>

#include <filesystem>

#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

class PrivateFiles : public ServerTest {
 protected:
  mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  const std::string data_ = directory_ / "data";
  const std::string database_ = data_ + "/coterie.sqlite3";
};

TEST_F(PrivateFiles, AreAllThatAServerWrites) {
  start();
  ASSERT_TRUE(test::is_ok(admin_->create_job(flat_model(16), spec_for(1, 1))));
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_)) {
    EXPECT_EQ(mode_of(entry.path()) & 077, 0u) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 10);
  EXPECT_EQ(server_->log().find("others_"), std::string::npos) << server_->log();
}

TEST_F(PrivateFiles, OfBeforeAreMendedAloud) {
  start();
  server_->kill();
  ASSERT_EQ(::chmod(data_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(database_.c_str(), 0644), 0);
  start();
  EXPECT_EQ(mode_of(data_), 0700u);
  EXPECT_EQ(mode_of(database_), 0600u);
  const std::string said = server_->log();
  EXPECT_NE(said.find("\"others_could_read\",\"path\":\"" + data_ + "\""), std::string::npos) << said;
  EXPECT_NE(said.find("\"others_could_read\",\"path\":\"" + database_ + "\""), std::string::npos) << said;
}

}  // namespace
}  // namespace coterie::integration
