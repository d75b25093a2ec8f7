#include "secure/tls/socket_bio.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace coterie {
namespace {

int descriptor_of(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int write_to(BIO* bio, const char* data, size_t size, size_t* written) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::send(descriptor_of(bio), data, size, MSG_NOSIGNAL);
  if (count < 0) {
    if (would_block()) BIO_set_retry_write(bio);
    return 0;
  }
  *written = static_cast<size_t>(count);
  return 1;
}

int read_from(BIO* bio, char* data, size_t size, size_t* read) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::recv(descriptor_of(bio), data, size, 0);
  if (count <= 0) {
    if (count < 0 && would_block()) BIO_set_retry_read(bio);
    if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return 0;
  }
  *read = static_cast<size_t>(count);
  return 1;
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

const BIO_METHOD* method() {
  static BIO_METHOD* const made = [] {
    BIO_METHOD* fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coterie socket");
    BIO_meth_set_write_ex(fresh, &write_to);
    BIO_meth_set_read_ex(fresh, &read_from);
    BIO_meth_set_ctrl(fresh, &control);
    return fresh;
  }();
  return made;
}

}  // namespace

BIO* make_socket_bio(int fd) {
  BIO* bio = BIO_new(method());
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace coterie
