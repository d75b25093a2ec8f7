// What the parties of an exact regression say to each other. All numbers are little-endian (wire.h).
//
//   label party                                feature party
//   hello: settings, rows, columns, key ---->
//                                     <------  ready: columns
//   for each step:
//                                     <------  margins: what its columns add, a number a row, in the clear
//   residuals: a ciphertext a row, then minus their sum -->
//                                     <------  masked: sums of residuals times its columns, masked, some a ciphertext
//   sums: the same, decrypted  ------------->
#pragma once

#include "base/result.h"
#include "vertical/exact/exact_settings.h"
#include "vertical/stage/stage.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

// From 200 on, so that no other stage has the same kinds.
enum class ExactMessage : uint16_t {
  hello = 200,      // u32 version, u32 epochs, u32 batch, f64 rate, f64 lambda, u32 rows, u32 own columns, public key
  ready = 201,      // u32 own columns
  margins = 202,    // u32 step, a double a row
  residuals = 203,  // u32 step, u32 first, ciphertexts: rows in order, then minus the sum of all
  masked = 204,     // u32 step, ciphertexts (masked_sums.h)
  sums = 205,       // u32 step, kMaskedSumBytes a column
};

constexpr uint32_t kExactProtocolVersion = 1;
constexpr size_t kExactStepBytes = 4;
constexpr size_t kExactResidualHeaderBytes = 8;
constexpr size_t kExactHelloBytes = 4 + 4 + 4 + 8 + 8 + 4 + 4;  // and the key

Message exact_message(PartyIndex to, ExactMessage kind, WireWriter& writer);

// malformed, with what came and what was expected, unless it is of this kind and `bytes` long.
Status expect_exact(const Message& message, ExactMessage kind, size_t bytes);
// The same of a kind whose first number is the step; a reader behind it.
Result<WireReader> read_exact_step(const Message& message, ExactMessage kind, uint32_t step, size_t bytes);
Error exact_malformed(const Message& message, const std::string& what);

// What the label party says of itself.
struct ExactHello {
  RegressionSettings settings;
  uint32_t rows = 0;
  uint32_t label_columns = 0;  // the intercept among them
  Bytes key;
};
Message write_exact_hello(PartyIndex to, const ExactHello& hello);
// malformed; settings are not checked.
Result<ExactHello> read_exact_hello(const Message& message);

// How many ciphertexts one message takes.
constexpr size_t exact_ciphertexts_of_message(size_t ciphertext_bytes) {
  return (kMessageBytesMax - kExactResidualHeaderBytes) / ciphertext_bytes;
}

}  // namespace coterie::vertical
