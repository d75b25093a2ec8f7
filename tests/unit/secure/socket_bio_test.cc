// Bytes through a pair of sockets, and what becomes of them when the other end is gone.
#include "secure/tls/socket_bio.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

namespace coterie {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

class SocketBio : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()), 0);
    bio_.reset(make_socket_bio(ends_[0]));
    ASSERT_NE(bio_, nullptr);
  }
  void TearDown() override {
    ::close(ends_[0]);
    close_other_end();
  }
  void close_other_end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
  std::unique_ptr<BIO, FreeBio> bio_;
};

TEST_F(SocketBio, CarriesBytesBothWays) {
  EXPECT_EQ(BIO_write(bio_.get(), "there", 5), 5);
  std::array<char, 8> got{};
  ASSERT_EQ(::recv(ends_[1], got.data(), got.size(), 0), 5);
  EXPECT_EQ(std::string(got.data()), "there");
  ASSERT_EQ(::send(ends_[1], "back", 4, 0), 4);
  ASSERT_EQ(BIO_read(bio_.get(), got.data(), 8), 4);
  EXPECT_EQ(std::string(got.data(), 4), "back");
}

TEST_F(SocketBio, AsksToBeTriedAgain) {
  char byte = 0;
  EXPECT_LE(BIO_read(bio_.get(), &byte, 1), 0);
  EXPECT_TRUE(BIO_should_read(bio_.get()));
  const std::string much(1 << 16, 'x');
  while (BIO_write(bio_.get(), much.data(), static_cast<int>(much.size())) > 0) {
  }
  EXPECT_TRUE(BIO_should_write(bio_.get()));
}

TEST_F(SocketBio, TellsAnEndFromAPause) {
  char byte = 0;
  EXPECT_LE(BIO_read(bio_.get(), &byte, 1), 0);
  EXPECT_FALSE(BIO_eof(bio_.get()));
  close_other_end();
  EXPECT_LE(BIO_read(bio_.get(), &byte, 1), 0);
  EXPECT_FALSE(BIO_should_retry(bio_.get()));
  EXPECT_TRUE(BIO_eof(bio_.get()));
}

// With the signal as a process finds it: write(2) would end this test.
TEST_F(SocketBio, WritesToNobodyWithoutASignal) {
  ASSERT_NE(::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  close_other_end();
  EXPECT_LE(BIO_write(bio_.get(), "x", 1), 0);
  EXPECT_FALSE(BIO_should_retry(bio_.get()));
}

}  // namespace
}  // namespace coterie
