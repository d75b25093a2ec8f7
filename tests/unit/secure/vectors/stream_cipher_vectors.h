// Published key streams and some of our own making.
#pragma once

namespace coterie::vectors {

// NIST SP 800-38A, F.5.5 and F.5.6 (CTR-AES256). Its counter begins at kCtrAes256FirstCounter rather than 0.
inline constexpr const char* kCtrAes256Key = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
inline constexpr const char* kCtrAes256FirstCounter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
inline constexpr const char* kCtrAes256Plaintext =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
inline constexpr const char* kCtrAes256Ciphertext =
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6";

// RFC 8439, appendix A.1: key, block counter, nonce zero (test vectors 1 to 4; the fifth has a nonce).
struct ChaChaBlock {
  const char* key;
  unsigned counter;
  const char* block;
};
inline constexpr ChaChaBlock kChaChaBlocks[] = {
    {"0000000000000000000000000000000000000000000000000000000000000000", 0,
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
     "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"},
    {"0000000000000000000000000000000000000000000000000000000000000000", 1,
     "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
     "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"},
    {"0000000000000000000000000000000000000000000000000000000000000001", 1,
     "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
     "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"},
    {"00ff000000000000000000000000000000000000000000000000000000000000", 2,
     "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
     "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"},
};

// Ours, computed with two implementations: the key 00 01 .. 1f, 1 MiB from offset 0.
inline constexpr const char* kCountingKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
inline constexpr const char* kAesFirst32 = "f29000b62a499fd0a9f39a6add2e7780f05d76ae4ab99fe5a6f69b3148c2363d";
inline constexpr const char* kAesLast32 = "2f1637ae18b49a567fda8d2967ee2676695737554fb975a9fd99adc5bfe6881f";
inline constexpr const char* kAesSha256 = "81d2e0277e02e82905a82544e0b46f944fbb644a2287c211b3eab305b42c81a9";
inline constexpr const char* kChaChaSha256 = "d9349ac5d39db0263c5f438bd673d0a6a8a061d0f176078271ee37bf024aa7f1";

}  // namespace coterie::vectors
