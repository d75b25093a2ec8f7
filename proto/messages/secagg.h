// What a device and a server say in one session of secure aggregation, phase by phase. secure/secagg has both machines,
// and docs/PROTOCOL.md the conversation.
//
//   phase       device -> server     server -> device
//   advertise   KeyAdvert            RosterSlot (drawn graphs) or RosterView
//   choose      HolderChoice         RosterView                             drawn graphs only
//   share       SealedShares         ShareInbox
//   mask        MaskedInput, lanes   ConfirmRequest (active) or UnmaskRequest
//   confirm     Confirmation         UnmaskRequest                          active and above
//   unmask      Unmasking
//
// Devices are numbered by their place in the session's roster, from 0. Lists of devices ascend, each at most once:
// decoders refuse others. Requests are signed by the device's own key where they travel; what is signed in here is what
// other devices verify. Source: Bonawitz et al., CCS 2017 (ePrint 2017/281), figure 4; Bell et al., CCS 2020 (ePrint
// 2020/704).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "proto/messages/checkin.h"

namespace coterie {

// What the server may learn of a device's update. A job asks for a level; a device has a least one of its own and
// refuses anything lower. Numbers of the wire; a plan that says nothing means none.
enum class SecurityLevel : uint8_t {
  none = 0,       // the update itself
  masked = 1,     // the sum, if the server follows the protocol
  active = 2,     // the sum or nothing, whatever the server does
  active_dp = 3,  // the sum with noise that the devices added
};

using Key32 = std::array<uint8_t, 32>;  // an X25519 public key (RFC 7748), as it travels

// Devices in one roster. Sessions are planned for as many (secure/secagg/graph_parameters.h).
inline constexpr uint32_t kRosterSizeMin = 2;
inline constexpr uint32_t kRosterSizeMax = 10'000;

// Who advertises: the device's enrolled key, and who vouches for it.
struct DeviceIdentity {
  KeyAlgorithm key_algorithm = KeyAlgorithm::ed25519;
  Bytes public_key;
  Bytes certificate;  // by an authority that the app trusts; may be empty where the level does not ask for it
  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};

struct KeyAdvert {
  DeviceIdentity identity;
  Key32 mask_key{};        // agrees on mask seeds
  Key32 seal_key{};        // agrees on keys for sealed shares
  Digest seed_commitment;  // to the seed of the device's own mask
  Key32 nonce{};           // fresh: no session is like another
  Bytes signature;         // of all of the above and the session's context; empty below active
  friend bool operator==(const KeyAdvert&, const KeyAdvert&) = default;
};

// A place in a roster that is closed, and the proof that this device's advert is in it. The device has not seen the
// others'.
struct RosterSlot {
  uint32_t device = 0;
  uint32_t size = 0;
  Digest root;                // Merkle tree hash of all adverts, in order
  std::vector<Digest> proof;  // secure/secagg/roster.h
  friend bool operator==(const RosterSlot&, const RosterSlot&) = default;
};

// The devices that a device trusts with shares of its secrets: it draws them at random itself.
struct HolderChoice {
  Digest root;
  uint32_t device = 0;
  std::vector<uint32_t> holders;
  friend bool operator==(const HolderChoice&, const HolderChoice&) = default;
};

struct RosterEntry {
  uint32_t device = 0;
  KeyAdvert advert;
  friend bool operator==(const RosterEntry&, const RosterEntry&) = default;
};

// This device's neighbours and itself, proven to be in the roster.
struct RosterView {
  uint32_t device = 0;
  uint32_t size = 0;
  Digest root;
  std::vector<RosterEntry> entries;
  std::vector<Digest> proof;
  friend bool operator==(const RosterView&, const RosterView&) = default;
};

// Two shares of 32 bytes, of the own mask's seed and of mask_key's secret, and an authentication tag.
inline constexpr size_t kSealedSharesBytes = 32 + 32 + 16;
using SealedBox = std::array<uint8_t, kSealedSharesBytes>;

struct AddressedBox {
  uint32_t peer = 0;  // to whom, in what a device sends; from whom, in what it gets
  SealedBox box{};
  friend bool operator==(const AddressedBox&, const AddressedBox&) = default;
};

struct SealedShares {
  Digest session;
  uint32_t device = 0;
  std::vector<AddressedBox> boxes;  // one for each holder but itself
  friend bool operator==(const SealedShares&, const SealedShares&) = default;
};

struct ShareInbox {
  Digest session;
  std::vector<uint32_t> present;    // neighbours that have shared: those to mask with
  std::vector<AddressedBox> boxes;  // from those of them for which this device is a holder
  friend bool operator==(const ShareInbox&, const ShareInbox&) = default;
};

// The header of a masked update; the lanes (little-endian, lane_bits each, one behind the other without a gap) are the
// frame's payload.
struct MaskedInput {
  Digest session;
  uint32_t device = 0;
  uint8_t lane_bits = 32;          // 16, 32 or 64; of quantized updates any in [8, 32]
  uint64_t lane_count = 0;         // check lanes included (secure/secagg/check_lanes.h)
  Digest lanes;                    // content digest of the payload
  std::vector<uint32_t> unopened;  // whose box did not open
  friend bool operator==(const MaskedInput&, const MaskedInput&) = default;
};

// The devices with masked updates in the sum. Bit i of byte i / 8, least significant first; bits from `size` on are 0.
struct SurvivorSet {
  uint32_t size = 0;  // of the roster
  Bytes bits;
  friend bool operator==(const SurvivorSet&, const SurvivorSet&) = default;
};

// Asks the survivors whether all of them were told of the same set.
struct ConfirmRequest {
  Digest session;
  SurvivorSet survivors;
  friend bool operator==(const ConfirmRequest&, const ConfirmRequest&) = default;
};

struct Confirmation {
  Digest session;
  uint32_t device = 0;
  Bytes signature;  // of the session and the survivor set
  friend bool operator==(const Confirmation&, const Confirmation&) = default;
};

struct SignedBy {
  uint32_t device = 0;
  Bytes signature;
  friend bool operator==(const SignedBy&, const SignedBy&) = default;
};

struct UnmaskRequest {
  Digest session;
  SurvivorSet survivors;
  std::vector<SignedBy> confirmations;  // of the asked device's holders; empty below active
  friend bool operator==(const UnmaskRequest&, const UnmaskRequest&) = default;
};

enum class ShareKind : uint8_t {
  seed = 1,      // of the own mask's seed: the device survived
  mask_key = 2,  // of its key for pairwise masks: it vanished
};

struct OpenedShare {
  uint32_t device = 0;  // whose secret
  ShareKind kind = ShareKind::seed;
  std::array<uint8_t, 32> value{};
  friend bool operator==(const OpenedShare&, const OpenedShare&) = default;
};

struct Unmasking {
  Digest session;
  uint32_t device = 0;
  std::vector<OpenedShare> shares;  // never two of one device
  friend bool operator==(const Unmasking&, const Unmasking&) = default;
};

std::string_view to_string(SecurityLevel level);
std::optional<SecurityLevel> security_level_from(std::string_view name);

}  // namespace coterie
