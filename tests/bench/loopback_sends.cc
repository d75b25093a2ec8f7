#include "tests/bench/loopback_sends.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/os/clock.h"
#include "base/os/thread_time.h"

namespace coterie {
namespace {

// Closed at its end; shut down before, so that whoever reads it hears.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

void read_all(Descriptor socket) {
  std::array<char, 16 * 1024> piece;
  while (::recv(socket.get(), piece.data(), piece.size(), 0) > 0) {
  }
}

}  // namespace

Result<double> cpu_seconds_of_a_send(const LoopbackSends& sends) {
  const Error refused(ErrorCode::unavailable, "loopback: no sockets for so many readers");
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(listener.get(), any, size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0) return refused;
  if (::getsockname(listener.get(), any, &size) != 0) return refused;
  std::vector<std::jthread> readers;  // gone behind the sockets that they read from
  std::vector<Descriptor> sockets;
  for (uint32_t i = 0; i < sends.readers; ++i) {
    Descriptor reader(::socket(AF_INET, SOCK_STREAM, 0));
    if (::connect(reader.get(), any, size) != 0) return refused;
    sockets.emplace_back(::accept(listener.get(), nullptr, nullptr));
    const int on = 1;
    if (::setsockopt(sockets.back().get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) return refused;
    readers.emplace_back(&read_all, std::move(reader));
  }
  const std::string piece(sends.bytes, 'x');
  const double before = os::thread_cpu_seconds();
  const Instant begin = os::monotonic_now();
  for (uint32_t round = 0; round < sends.rounds; ++round) {
    const Millis left = begin + sends.every * round - os::monotonic_now();
    ::poll(nullptr, 0, static_cast<int>(std::max(left, Millis(0)).count()));
    for (const Descriptor& socket : sockets) {
      if (::send(socket.get(), piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return refused;
    }
  }
  return (os::thread_cpu_seconds() - before) / (static_cast<double>(sends.readers) * sends.rounds);
}

}  // namespace coterie
