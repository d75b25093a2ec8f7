#include "tests/simulation/vertical/surroundings.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/os/file.h"
#include "secure/crypto/secret.h"
#include "secure/he/paillier.h"
#include "tests/unit/vertical_trees/plain_cipher.h"
#include "vertical/link/link_pulses.h"

namespace coterie::simulation {
namespace {

thread_local Surroundings* around = nullptr;

// What the linker wraps, whose calls by what has surroundings are counted: a name that the compiler no longer gives
// would be a wrapper that nobody calls, and the system's own would be used unseen.
enum class Wrapped : uint8_t {
  write_file,
  erase_file,
  remove_file,
  append,
  sync,
  truncate,
  dial,
  secure,
  pulse,
  draw,
  wait,
  make_key,
  make_cipher,
  now,
  print,
  print_to
};
constexpr std::array kWrappedNames = {"write_file",  "erase_file", "remove_file", "append",  "sync", "truncate",
                                      "dial",        "secure",     "pulse",       "draw",    "wait", "make_key",
                                      "make_cipher", "now",        "print",       "print_to"};
std::array<std::atomic<uint64_t>, kWrappedNames.size()> calls{};

// The caller's surroundings, or null.
Surroundings* around_call(Wrapped function) {
  if (around != nullptr) calls[static_cast<size_t>(function)].fetch_add(1, std::memory_order_relaxed);
  return around;
}

// What is real of it is that the process may die: a simulated disk needs no fsync.
constexpr os::Durability kDurability = os::Durability::process;

using Stream = Result<std::unique_ptr<vertical::ByteStream>>;

// The names that --wrap asks for, as the compiler mangles those of the functions that are wrapped. A member's first
// argument is its object.
#define COT_PATH "RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define COT_BYTES "St4spanIKhLm18446744073709551615EE"
#define COT_REAL(name) asm("__real_" name)
#define COT_WRAP(name) asm("__wrap_" name)

}  // namespace

Status real_write(const std::string& path, ByteView bytes, const os::FilePoints* points)
    COT_REAL("_ZN7coterie2os21write_file_atomicallyE" COT_PATH COT_BYTES "PKNS0_10FilePointsE");
Status real_erase(const std::string& path) COT_REAL("_ZN7coterie2os10erase_fileE" COT_PATH);
Status real_remove(const std::string& path) COT_REAL("_ZN7coterie2os11remove_fileE" COT_PATH);
Status real_append(os::File* file, ByteView bytes) COT_REAL("_ZN7coterie2os4File9write_allE" COT_BYTES);
Status real_sync(os::File* file) COT_REAL("_ZN7coterie2os4File4syncEv");
Status real_truncate(os::File* file) COT_REAL("_ZN7coterie2os4File8truncateEv");
Stream real_dial(const std::string& host, uint16_t port, const vertical::TlsIdentity& identity,
                 const vertical::LinkPatience& patience)
    COT_REAL("_ZN7coterie8vertical10dial_partyE" COT_PATH "tRKNS0_11TlsIdentityERKNS0_12LinkPatienceE");
Stream real_secure(std::unique_ptr<vertical::ByteStream> carrier, const vertical::TlsIdentity& identity, bool accepts)
    COT_REAL(
        "_ZN7coterie8vertical13secure_insideESt10unique_ptrINS0_10ByteStreamESt14default_deleteIS2_EERKNS0_"
        "11TlsIdentityEb");
void real_pulses(vertical::LinkPulses* pulses, std::vector<vertical::Link*> links, Millis interval) COT_REAL(
    "_ZN7coterie8vertical10LinkPulsesC1ESt6vectorIPNS0_4LinkESaIS4_EENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
void real_fill(std::span<uint8_t> bytes) COT_REAL("_ZN7coterie11fill_randomESt4spanIhLm18446744073709551615EE");
Status real_wait(Millis time) COT_REAL("_ZN7coterie9Interrupt4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
std::unique_ptr<AdditiveKey> real_key(PaillierBits bits, const Secret<32>& seed)
    COT_REAL("_ZN7coterie17make_paillier_keyENS_12PaillierBitsERKNS_6SecretILm32EEE");
Result<std::unique_ptr<AdditiveCipher>> real_cipher(ByteView key, Secret<32> seed)
    COT_REAL("_ZN7coterie15paillier_cipherE" COT_BYTES "NS_6SecretILm32EEE");
std::chrono::steady_clock::time_point real_now() COT_REAL("_ZNSt6chrono3_V212steady_clock3nowEv");

std::vector<WrapperCalls> wrapper_calls() {
  std::vector<WrapperCalls> counted;
  for (size_t i = 0; i < kWrappedNames.size(); ++i) counted.push_back({kWrappedNames[i], calls[i].load()});
  return counted;
}

Surrounded::Surrounded(Surroundings& surroundings) { around = &surroundings; }
Surrounded::~Surrounded() { around = nullptr; }

template <typename Real>
static Status change_file(const std::string& path, ByteView bytes, Real real) {
  if (!around->begin_file(path, bytes)) return {};
  const Status done = real();
  around->end_file();
  return done;
}

Status wrap_write(const std::string& path, ByteView bytes, const os::FilePoints* points)
    COT_WRAP("_ZN7coterie2os21write_file_atomicallyE" COT_PATH COT_BYTES "PKNS0_10FilePointsE");
Status wrap_write(const std::string& path, ByteView bytes, const os::FilePoints* points) {
  if (around_call(Wrapped::write_file) == nullptr) return real_write(path, bytes, points);
  return change_file(path, bytes, [&] { return os::write_file_atomically(path, bytes, kDurability); });
}

Status wrap_erase(const std::string& path) COT_WRAP("_ZN7coterie2os10erase_fileE" COT_PATH);
Status wrap_erase(const std::string& path) {
  if (around_call(Wrapped::erase_file) == nullptr || !os::exists(path)) return real_erase(path);
  return change_file(path, {}, [&] { return real_erase(path); });
}

Status wrap_remove(const std::string& path) COT_WRAP("_ZN7coterie2os11remove_fileE" COT_PATH);
Status wrap_remove(const std::string& path) {
  if (around_call(Wrapped::remove_file) == nullptr) return real_remove(path);
  return change_file(path, {}, [&] { return real_remove(path); });
}

Status wrap_append(os::File* file, ByteView bytes) COT_WRAP("_ZN7coterie2os4File9write_allE" COT_BYTES);
Status wrap_append(os::File* file, ByteView bytes) {
  if (around_call(Wrapped::append) == nullptr) return real_append(file, bytes);
  const std::optional<size_t> kept = around->appended(file->path(), bytes.size());
  if (!kept) return {};
  COT_TRY(real_append(file, bytes.first(*kept)));
  if (*kept < bytes.size()) around->die();
  return {};
}

Status wrap_sync(os::File* file) COT_WRAP("_ZN7coterie2os4File4syncEv");
Status wrap_sync(os::File* file) { return around_call(Wrapped::sync) == nullptr ? real_sync(file) : Status(); }

Status wrap_truncate(os::File* file) COT_WRAP("_ZN7coterie2os4File8truncateEv");
Status wrap_truncate(os::File* file) {
  if (around_call(Wrapped::truncate) == nullptr) return real_truncate(file);
  return change_file(file->path(), {}, [&] { return real_truncate(file); });
}

Stream wrap_dial(const std::string& host, uint16_t port, const vertical::TlsIdentity& identity,
                 const vertical::LinkPatience& patience)
    COT_WRAP("_ZN7coterie8vertical10dial_partyE" COT_PATH "tRKNS0_11TlsIdentityERKNS0_12LinkPatienceE");
Stream wrap_dial(const std::string& host, uint16_t port, const vertical::TlsIdentity& identity,
                 const vertical::LinkPatience& patience) {
  return around_call(Wrapped::dial) == nullptr ? real_dial(host, port, identity, patience) : around->dial(patience);
}

// What passes is read by the oracle, so that it is not sealed.
Stream wrap_secure(std::unique_ptr<vertical::ByteStream> carrier, const vertical::TlsIdentity& identity, bool accepts)
    COT_WRAP(
        "_ZN7coterie8vertical13secure_insideESt10unique_ptrINS0_10ByteStreamESt14default_deleteIS2_EERKNS0_"
        "11TlsIdentityEb");
Stream wrap_secure(std::unique_ptr<vertical::ByteStream> carrier, const vertical::TlsIdentity& identity, bool accepts) {
  if (around_call(Wrapped::secure) == nullptr) return real_secure(std::move(carrier), identity, accepts);
  return carrier;
}

// The constructor. Its thread would tell the system's time, and speak in between of the one process that runs.
void wrap_pulses(vertical::LinkPulses* pulses, std::vector<vertical::Link*> links, Millis interval) COT_WRAP(
    "_ZN7coterie8vertical10LinkPulsesC1ESt6vectorIPNS0_4LinkESaIS4_EENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
void wrap_pulses(vertical::LinkPulses* pulses, std::vector<vertical::Link*> links, Millis interval) {
  if (around_call(Wrapped::pulse) != nullptr) links.clear();
  real_pulses(pulses, std::move(links), interval);
}

void wrap_fill(std::span<uint8_t> bytes) COT_WRAP("_ZN7coterie11fill_randomESt4spanIhLm18446744073709551615EE");
void wrap_fill(std::span<uint8_t> bytes) {
  around_call(Wrapped::draw) == nullptr ? real_fill(bytes) : around->draw(bytes);
}

Status wrap_wait(Millis time) COT_WRAP("_ZN7coterie9Interrupt4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
Status wrap_wait(Millis time) { return around_call(Wrapped::wait) == nullptr ? real_wait(time) : around->wait(time); }

std::unique_ptr<AdditiveKey> wrap_key(PaillierBits bits, const Secret<32>& seed)
    COT_WRAP("_ZN7coterie17make_paillier_keyENS_12PaillierBitsERKNS_6SecretILm32EEE");
std::unique_ptr<AdditiveKey> wrap_key(PaillierBits bits, const Secret<32>& seed) {
  if (around_call(Wrapped::make_key) == nullptr) return real_key(bits, seed);
  return std::make_unique<vertical::test::PlainKey>();
}

Result<std::unique_ptr<AdditiveCipher>> wrap_cipher(ByteView key, Secret<32> seed)
    COT_WRAP("_ZN7coterie15paillier_cipherE" COT_BYTES "NS_6SecretILm32EEE");
Result<std::unique_ptr<AdditiveCipher>> wrap_cipher(ByteView key, Secret<32> seed) {
  if (around_call(Wrapped::make_cipher) == nullptr) return real_cipher(key, std::move(seed));
  return vertical::test::plain_cipher(key, std::move(seed));
}

std::chrono::steady_clock::time_point wrap_now() COT_WRAP("_ZNSt6chrono3_V212steady_clock3nowEv");
std::chrono::steady_clock::time_point wrap_now() {
  if (around_call(Wrapped::now) == nullptr) return real_now();
  return std::chrono::steady_clock::time_point(around->now().time_since_epoch());
}

// What a party's program says for people: thousands of them would say it at once.
extern "C" {
int wrap_printf(const char* format, ...) asm("__wrap_printf");
int wrap_fprintf(FILE* file, const char* format, ...) asm("__wrap_fprintf");

int wrap_printf(const char* format, ...) {
  if (around_call(Wrapped::print) != nullptr) return 0;
  va_list arguments;
  va_start(arguments, format);
  const int count = std::vprintf(format, arguments);
  va_end(arguments);
  return count;
}

int wrap_fprintf(FILE* file, const char* format, ...) {
  if (around_call(Wrapped::print_to) != nullptr) return 0;
  va_list arguments;
  va_start(arguments, format);
  const int count = std::vfprintf(file, format, arguments);
  va_end(arguments);
  return count;
}
}

}  // namespace coterie::simulation
