// DealtFrames: a dealing as the bytes of a connection, made one frame at a time as they go.
#pragma once

#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"
#include "secure/crypto/secret.h"
#include "vertical/coordinator/coordinator_machine.h"
#include "vertical/regression/dealing.h"
#include "vertical/regression/product_dealing.h"

namespace coterie::vertical {

class DealtFrames {
 public:
  using AnyDealing = std::variant<Dealing, ProductDealing>;
  explicit DealtFrames(AnyDealing dealing) : dealing_(std::move(dealing)) {}

  // What goes next; empty when all has gone. Makes the next frame if there is none, which takes some milliseconds.
  ByteView waiting();
  void sent(size_t bytes);  // of waiting()
  // After waiting() was empty.
  bool is_over() const { return is_over_; }

 private:
  AnyDealing dealing_;
  Bytes frame_;
  size_t gone_ = 0;
  uint64_t sequence_ = 0;
  bool is_over_ = false;
};

// One party's half of what the machine wants dealt. `secret`: the job's, JobStore::dealing_secret(). Errors as those of
// Dealing::make() and ProductDealing::make(), for a shape that none may be dealt.
Result<DealtFrames::AnyDealing> make_dealing(const CoordinatorEffects::Deal& deal, PartyIndex party,
                                             const Secret<32>& secret);

}  // namespace coterie::vertical
