// Ed25519 signatures that were verified in this world already. An assignment goes to every device of a round, and each
// of them verifies it: the same bytes give the same answer, and were half of the simulator's time.
//
// The linker puts what is here in the place of libsodium's crypto_sign_verify_detached (--wrap, CMakeLists.txt). Each
// signature is verified by libsodium once, and one that is not good every time it is shown.
#pragma once

namespace coterie::simulation {

// A world begins without any, so that its time and its memory are its own.
void forget_verified_signatures();

}  // namespace coterie::simulation
