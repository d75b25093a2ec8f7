// AddressRange: internet addresses with the same beginning, as operators write them: "10.0.0.0/8", "fd00::/8", "::1".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coterie {

// Big-endian; an IPv4 address is ::ffff:a.b.c.d, however its connection came.
using IpAddress = std::array<uint8_t, 16>;

class AddressRange {
 public:
  // Without a length: one address. None: it is no such text, or an address has a bit behind the length.
  static std::optional<AddressRange> parse(const std::string& text);
  bool contains(const IpAddress& address) const;
  bool operator==(const AddressRange&) const = default;

 private:
  IpAddress first_{};
  uint32_t bits_ = 128;  // of the beginning
};

// 127.0.0.0/8 and ::1: who is on this machine.
std::vector<AddressRange> loopback_addresses();

}  // namespace coterie
