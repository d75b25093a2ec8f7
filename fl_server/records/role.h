// Role: what a caller of the admin plane, or the serving plane, is trusted with. A token has a set of them, and a route
// is for a set; whoever has one role of the route's set may call it. docs/operating/access.md says what each is for;
// fl_server/admin_api/routes.cc decides, and fl_server/app/model_gate.h.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace coterie {

// The numbers are stored (RoleSet::bits): never renumber.
enum class Role : uint8_t {
  viewer = 0,
  operator_ = 1,
  ml_engineer = 2,
  privacy_officer = 3,
  security_admin = 4,
  node = 5,         // another server; no route of this plane is for it
  application = 6,  // asks models that a server answers with; likewise
};

inline constexpr std::array kRoles = {Role::viewer,         Role::operator_, Role::ml_engineer, Role::privacy_officer,
                                      Role::security_admin, Role::node,      Role::application};

constexpr std::string_view to_string(Role role) {
  constexpr std::string_view kNames[] = {"viewer",         "operator", "ml_engineer", "privacy_officer",
                                         "security_admin", "node",     "application"};
  return kNames[static_cast<size_t>(role)];
}

constexpr std::optional<Role> role_from_name(std::string_view name) {
  for (const Role role : kRoles) {
    if (to_string(role) == name) return role;
  }
  return std::nullopt;
}

class RoleSet {
 public:
  constexpr RoleSet() = default;
  constexpr RoleSet(std::initializer_list<Role> roles) {
    for (const Role role : roles) insert(role);
  }
  // The roles in a stored number; bits that stand for no role stay, and give nothing.
  static constexpr RoleSet from_bits(uint64_t bits) {
    RoleSet set;
    set.bits_ = bits;
    return set;
  }

  constexpr void insert(Role role) { bits_ |= uint64_t{1} << static_cast<uint8_t>(role); }
  constexpr bool contains(Role role) const { return (bits_ >> static_cast<uint8_t>(role) & 1) != 0; }
  constexpr bool intersects(RoleSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint64_t bits() const { return bits_; }

  // "viewer, operator"; "no role" if it is empty.
  std::string text() const {
    std::string names;
    for (const Role role : kRoles) {
      if (contains(role)) names += (names.empty() ? "" : ", ") + std::string(to_string(role));
    }
    return names.empty() ? "no role" : names;
  }

  friend constexpr bool operator==(RoleSet, RoleSet) = default;

 private:
  uint64_t bits_ = 0;
};

// What the token in the data directory has: everything a person may do.
inline constexpr RoleSet kEveryRoleOfPeople = {Role::viewer, Role::operator_, Role::ml_engineer, Role::privacy_officer,
                                               Role::security_admin};

// What a token that somebody makes may have.
inline constexpr RoleSet kEveryRoleOfTokens = {Role::viewer,          Role::operator_,      Role::ml_engineer,
                                               Role::privacy_officer, Role::security_admin, Role::application};

}  // namespace coterie
