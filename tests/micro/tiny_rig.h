// A program that takes part in rounds: a generated one, the client of device_sdk/tiny, and a host for both, compiled
// without a warning and with sanitizers.
#pragma once

#include <string>
#include <vector>

#include "proto/messages/plan.h"
#include "tests/micro/program_rig.h"

namespace coterie::test {

// PREFIX.h and .c, coterie_tiny.h and .c, and examples.h, in `folder`.
MicroProgram write_tiny_program(const std::string& folder, const Bytes& model_file, const RigCase& facts);

// What a server answers in a round of a model: its file, a plan, and what the round was answered with, each as a whole
// answer of HTTP. Digests are zeros and signatures are none, for boards that believe everything.
struct ScriptedRound {
  Bytes model;
  Plan plan;
  RigCase facts;

  static ScriptedRound small();  // of a model with 15 parameters and six examples
  size_t assignment_bytes() const;
  std::vector<Bytes> answers() const;  // to the check-in, of the plan, the model, the model again, to the update
};

struct TinyHost {
  std::vector<std::string> sources;  // paths in the repository
  std::string options;               // of all files
  std::string own_options;           // of these alone
};
// Compiles them with their host into FOLDER/NAME; what a call before has compiled of them, with the same options, is
// taken.
void compile_tiny_program(const std::string& folder, const MicroProgram& program, const std::string& name,
                          const TinyHost& host);

// FOLDER/answers.h: the answers as arrays, and examples.h.
void write_scripted_answers(const std::string& folder, const ScriptedRound& round);
// What tests/micro/target/tiny_driver.c prints of the small round, wherever it runs.
inline constexpr const char* kSmallRoundPrints = "code 00000000\nsent 4494a969\n";

}  // namespace coterie::test
