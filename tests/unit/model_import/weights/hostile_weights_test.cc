// Bytes that are no honest file of weights: each is a typed error, and none makes more memory than the file has.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/unit/model_import/weights/weight_files.h"

namespace coterie {
namespace {

using namespace model_import;
using namespace test;

const char* const kFiles[] = {"table.safetensors", "table.npz", "table_compressed.npz", "table.ckpt",
                              "table_crc.ckpt",    "table.pt",  "table_zip32.pt",       "checkpoint.pt"};

// Reads all that can be read; what fails fails with an error of the input.
void read_all(ByteView file) {
  const Result<WeightTable> table = read_weights(file);
  if (!table) {
    ASSERT_NE(table.error().code(), ErrorCode::internal) << table.error().message();
    return;
  }
  for (const WeightTensor& tensor : table->tensors) {
    const Result<std::vector<float>> values = read_values(tensor);
    if (!values) {
      ASSERT_NE(values.error().code(), ErrorCode::internal) << values.error().message();
    } else {
      ASSERT_LE(values->size(), 1u << 20);
    }
  }
}

TEST(HostileWeights, EveryPrefixIsRefusedOrHasItsValues) {
  for (const char* const name : kFiles) {
    SCOPED_TRACE(name);
    const Bytes file = golden_weights(name);
    for (size_t size = 0; size < file.size(); ++size) {
      const ByteView prefix = ByteView(file).first(size);
      read_all(prefix);
      // A checkpoint of MindSpore is as long as its last value; the others know where they end.
      if (!std::string_view(name).ends_with(".ckpt")) ASSERT_FALSE(read_weights(prefix)) << size;
    }
  }
}

TEST(HostileWeights, TwoThousandMutationsOfEach) {
  for (const char* const name : kFiles) {
    SCOPED_TRACE(name);
    const Bytes file = golden_weights(name);
    std::mt19937_64 chance(7);
    for (int round = 0; round < 2000; ++round) {
      Bytes damaged = file;
      for (uint64_t i = 0; i <= chance() % 4; ++i) damaged[chance() % damaged.size()] = static_cast<uint8_t>(chance());
      if (chance() % 4 == 0) damaged.erase(damaged.begin() + static_cast<ptrdiff_t>(chance() % damaged.size()));
      read_all(damaged);
    }
  }
}

// Where the format has a checksum, a changed element is found when it is read.
TEST(HostileWeights, AChangedElementFailsItsChecksum) {
  Bytes file = golden_weights("table.pt");
  const Result<WeightTable> table = read_weights(file);
  ASSERT_OK(table);
  const ByteView part = table->tensors[0].content.parts[0];
  file[static_cast<size_t>(part.data() - file.data())] ^= 1;
  EXPECT_ERROR(read_values(table->tensors[0]), ErrorCode::data_loss, "conv.weight: fails its checksum");
  Bytes checkpoint = golden_weights("table_crc.ckpt");
  checkpoint[60] ^= 1;
  EXPECT_ERROR(read_weights(checkpoint), ErrorCode::data_loss, "fails its checksum");
}

TEST(HostileWeights, PicklesThatNameOtherThings) {
  const auto named = [](const std::string& program, std::string_view words) {
    EXPECT_ERROR(read_weights(torch_file(program)), ErrorCode::invalid_argument, words);
  };
  named(
      "\x80\x02"
      "cos\nsystem\n" +
          pickled_text("touch pwned") + "\x85R.",
      "names os.system, which no state dict needs");
  named("\x80\x04" + pickled_text("builtins") + pickled_text("eval") + "\x93.", "names builtins.eval");
  named(
      "\x80\x02"
      "ctorch.nn.modules.linear\nLinear\n)\x81.",
      "a whole module was saved");
  named(
      "\x80\x02"
      "ctorch._utils\n_rebuild_qtensor\n.",
      "names torch._utils._rebuild_qtensor");
  named(
      "\x80\x02"
      "ctorch\nFloatStorage2\n.",
      "names torch.FloatStorage2");
  named("\x80\x02}i.", "has the opcode 105");     // INST
  named("\x80\x02)\x81.", "has the opcode 129");  // NEWOBJ
  named("\x80\x02].", "holds no dictionary of tensors");
}

TEST(HostileWeights, PicklesThatCallWhatTheyMay) {
  const auto wrong = [](const std::string& program, std::string_view words) {
    EXPECT_ERROR(read_weights(torch_file("\x80\x02" + program)), ErrorCode::malformed, words);
  };
  wrong("ctorch\nFloatStorage\n)R.", "calls a storage");
  wrong("})R.", "calls what cannot be called");
  wrong("ccollections\nOrderedDict\n}R.", "calls what cannot be called");
  wrong("ccollections\nOrderedDict\n]\x85R.", "fills an OrderedDict");
  wrong("ctorch._utils\n_rebuild_parameter\n)R.", "something else than a tensor");
  wrong("ctorch._utils\n_rebuild_tensor_v2\n)R.", "of other arguments");
  wrong("NQ.", "names a storage in an unknown way");
  wrong("Ns.", "takes from an empty stack");
  wrong("NNNs.", "no dictionary");
  wrong("u.", "has no mark");
  wrong("h\x05.", "recalls what was never remembered");
  wrong("N)b.", "attributes to something else");
  wrong("}N.", "leaves something on its stack");
}

TEST(HostileWeights, TensorsThatReachOutOfTheirStorage) {
  const auto number = [](int32_t n) { return pickled_number(n); };
  const auto tuple = [](const std::string& a, const std::string& b) { return a + b + "\x86"; };
  EXPECT_OK(
      read_weights(torch_file(pickled_tensor(number(0), tuple(number(2), number(2)), tuple(number(1), number(2))))));
  const auto wrong = [&](const std::string& first, const std::string& sizes, const std::string& strides,
                         ErrorCode code = ErrorCode::malformed) {
    EXPECT_ERROR(read_weights(torch_file(pickled_tensor(first, sizes, strides))), code, "");
  };
  wrong(number(1), tuple(number(2), number(2)), tuple(number(1), number(2)));
  wrong(number(5), tuple(number(0), number(2)), tuple(number(1), number(2)));
  wrong(number(0), tuple(number(2), number(2)), tuple(number(2), number(2)));
  wrong(number(0), tuple(number(2), number(-2)), tuple(number(2), number(1)));
  wrong(number(-1), tuple(number(2), number(2)), tuple(number(2), number(1)));
  wrong(number(0), tuple(number(2), number(2)), number(2) + "\x85");
  // A million elements that are all the same one.
  wrong(number(0), tuple(number(1000), number(1000)), tuple(number(0), number(0)));
  const std::string huge = "\x8a\x08" + little(1ull << 62, 8);
  wrong(number(0), tuple(huge, huge), tuple(number(0), number(0)), ErrorCode::too_large);
  wrong(number(0), tuple(number(2), number(2)), tuple(huge, huge));
  // A stride that is never walked.
  const Bytes file = torch_file(pickled_tensor(number(0), tuple(number(4), number(1)), tuple(number(1), huge)));
  const Result<WeightTable> table = read_weights(file);
  ASSERT_OK(table);
  EXPECT_OK(read_values(table->tensors[0]));
  // A storage of another size than it says.
  const std::string honest = pickled_tensor(number(0), tuple(number(2), number(2)), tuple(number(2), number(1)));
  EXPECT_ERROR(read_weights(torch_file(honest, 12)), ErrorCode::malformed, "its storage has 12 bytes");
}

// What a short program could make large: copies of a long name, of a long tuple, a dictionary in itself, values alone.
TEST(HostileWeights, PicklesThatGrow) {
  const auto refused = [](const std::string& program) {
    const Result<WeightTable> table = read_weights(torch_file("\x80\x02" + program));
    ASSERT_FALSE(table);
    EXPECT_NE(table.error().code(), ErrorCode::internal);
  };
  refused("(" + pickled_text("storage") + "ctorch\nFloatStorage\n" + pickled_text(std::string(100'000, 'n')) +
          "NKatQ.");
  refused("ctorch\nSize\n(" + std::string(100, 'N') + "t\x85R.");
  refused("}q\x01" + pickled_text("a") + "h\x01s.");
  refused("}q\x01(" + pickled_text("a") + "h\x01" + pickled_text("b") + "h\x01u.");
  EXPECT_ERROR(read_weights(torch_file("\x80\x02" + std::string(1u << 20, 'N') + ".")), ErrorCode::too_large, "2^18");
  EXPECT_ERROR(read_weights(torch_file("\x80\x02" + std::string(1u << 20, '(') + ".")), ErrorCode::too_large, "");
}

TEST(HostileWeights, ArchivesThatLie) {
  const auto wrong = [](ZipBuild::Lies lies, ErrorCode code, std::string_view words) {
    EXPECT_ERROR(read_weights(ZipBuild().member("x.npy", "content", lies).finish()), code, words);
  };
  wrong({.plain = 1000, .stored = 1000}, ErrorCode::malformed, "reaches past the end");
  wrong({.plain = 8}, ErrorCode::malformed, "two sizes");
  wrong({.at = 5}, ErrorCode::malformed, "not where the directory says");
  wrong({.flags = 1}, ErrorCode::invalid_argument, "is encrypted");
  wrong({.method = 9}, ErrorCode::invalid_argument, "compressed by method 9");
  // Four gigabytes of seven bytes.
  wrong({.method = 8, .plain = 0xfffffffe}, ErrorCode::malformed, "larger than deflate can make it");
  wrong({.method = 8, .plain = 7000}, ErrorCode::malformed, "is compressed");
  wrong({.stored = 0xffffffff}, ErrorCode::malformed, "");
  const Bytes twice = ZipBuild().member("x.npy", "content").member("x.npy", "content").finish();
  EXPECT_ERROR(read_weights(twice), ErrorCode::malformed, "two members have the name x.npy");
  const Bytes over = ZipBuild().member("x.npy", "content").member("y.npy", "content", {.at = 0}).finish();
  EXPECT_ERROR(read_weights(over), ErrorCode::malformed, "over each other");
}

std::string npy(const std::string& header, const std::string& data) {
  return "\x93NUMPY\x01" + little(0, 1) + little(header.size(), 2) + header + data;
}

TEST(HostileWeights, ArraysThatLie) {
  const auto wrong = [](const std::string& array, ErrorCode code, std::string_view words) {
    EXPECT_ERROR(read_weights(ZipBuild().member("x.npy", array).finish()), code, words);
  };
  const std::string begin = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  wrong(npy(begin + "(1073741824, 4), }", "1234"), ErrorCode::too_large, "more than 2^31 elements");
  wrong(npy(begin + "(1000000,), }", "1234"), ErrorCode::malformed, "does not hold the 1000000 elements");
  wrong(npy(begin + "(1,), }", "12345678"), ErrorCode::malformed, "has 8 bytes behind its header, expected 4");
  wrong(npy(begin + "(99999999999999999999,), }", "1234"), ErrorCode::malformed, "shape that is none");
  wrong(npy(begin + "(1,1,1,1,1,1,1,1,1), }", "1234"), ErrorCode::too_large, "more than 8 dimensions");
  wrong(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1234"), ErrorCode::invalid_argument,
        "holds Python objects");
  wrong(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"), ErrorCode::malformed,
        "little-endian");
  wrong("no array", ErrorCode::malformed, "x.npy: is no .npy array");
}

Bytes safetensors(const std::string& header, size_t data_bytes) {
  const std::string all = little(header.size(), 8) + header + std::string(data_bytes, '\0');
  return {all.begin(), all.end()};
}

TEST(HostileWeights, SafetensorsThatLie) {
  const auto wrong = [](const std::string& header, ErrorCode code, std::string_view words) {
    EXPECT_ERROR(read_safetensors(safetensors(header, 8)), code, words);
  };
  const auto entry = [](const std::string& name, const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + offsets + "}";
  };
  EXPECT_OK(read_safetensors(safetensors("{" + entry("a", "[0,4]") + "," + entry("b", "[4,8]") + "}", 8)));
  wrong("{" + entry("a", "[0,4]") + "," + entry("b", "[0,4]") + "}", ErrorCode::malformed, "overlap");
  wrong("{" + entry("a", "[4,8]") + "}", ErrorCode::malformed, "hole");
  wrong("{" + entry("a", "[0,4]") + "}", ErrorCode::malformed, "behind its last tensor");
  wrong("{" + entry("a", "[0,4]") + "," + entry("a", "[4,8]") + "}", ErrorCode::malformed,
        "two tensors with the name a");
  wrong("{" + entry("a", "[8,12]") + "}", ErrorCode::malformed, "past the end");
  wrong("{" + entry("a", "[0,8]") + "}", ErrorCode::malformed, "has 8 bytes, expected 4");
  wrong("{" + entry("a", "[4,0]") + "}", ErrorCode::malformed, "offsets that are none");
  wrong("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[8],\"data_offsets\":[0,8]}}", ErrorCode::invalid_argument, "F8_E4M3");
  wrong("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967295,4294967295],\"data_offsets\":[0,8]}}", ErrorCode::too_large,
        "");
  wrong("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2]}}", ErrorCode::malformed, "its header is not");
  wrong("{\"a\":" + std::string(5000, '[') + "}", ErrorCode::malformed, "its header is not");
  wrong("{} {}", ErrorCode::malformed, "its header is not");
  const std::string vast = little(1ull << 40, 8) + "{}";
  EXPECT_ERROR(read_safetensors(as_bytes(vast)), ErrorCode::too_large, "100 MB");
}

TEST(HostileWeights, ValuesThatAreNotFinite) {
  Bytes file = golden_weights("table.safetensors");
  const Result<WeightTable> table = read_weights(file);
  ASSERT_OK(table);
  const auto at = static_cast<size_t>(table->tensors[4].content.parts[0].data() - file.data());
  const double large = 1e300;  // of float64, and more than any float32
  std::memcpy(file.data() + at, &large, sizeof large);
  EXPECT_ERROR(read_values(table->tensors[4]), ErrorCode::malformed,
               "norm.running_mean has a value that is not finite");
}

}  // namespace
}  // namespace coterie
