#include "fl_server/app/endpoints_file.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

TEST(EndpointsFile, IsThereForAsLongAsItsOwner) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "endpoints.json";
  const Endpoints endpoints{.device_url = "https://d", .admin_url = "https://a", .ca_file = {}, .admin_token_file = {}};
  {
    const auto file = EndpointsFile::write(path, endpoints);
    ASSERT_OK(file);
    const Result<Bytes> written = os::read_file(path, 1 << 20);
    ASSERT_OK(written);
    EXPECT_EQ(as_text(*written), to_json_text(endpoints));
    EXPECT_EQ((*file)->endpoints().admin_url, "https://a");
  }
  EXPECT_FALSE(os::exists(path));
}

// The next server may have written its own by the time this one ends.
TEST(EndpointsFile, IsRemovedOnce) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "endpoints.json";
  {
    const auto file = EndpointsFile::write(path, {});
    ASSERT_OK(file);
    (*file)->remove();
    EXPECT_FALSE(os::exists(path));
    ASSERT_OK(os::write_file_atomically(path, as_bytes("the next one's")));
  }
  EXPECT_TRUE(os::exists(path));
}

TEST(EndpointsFile, NamesTheDirectoryThatIsNotThere) {
  const test::TemporaryDirectory directory;
  EXPECT_ERROR(EndpointsFile::write(directory / "nowhere/endpoints.json", {}), ErrorCode::not_found, "nowhere");
}

}  // namespace
}  // namespace coterie
