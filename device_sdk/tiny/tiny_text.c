/* Text and bytes that are put together, and numbers in text. */

#include "device_sdk/tiny/tiny_parts.h"

void tiny_put(tiny_out* out, const void* bytes, uint32_t count) {
  if (out->is_full || count > out->size - out->used) {
    out->is_full = 1;
    return;
  }
  if (count > 0) memcpy(out->bytes + out->used, bytes, count);
  out->used += count;
}

uint32_t tiny_length(const char* text) {
  uint32_t bytes = 0;
  while (text[bytes] != 0) ++bytes;
  return bytes;
}

int tiny_copy_text(char* to, uint32_t size, const uint8_t* text, uint32_t bytes) {
  if (text == NULL || bytes == 0 || bytes >= size) return 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    if (text[i] == 0) return 0;
  }
  memcpy(to, text, bytes);
  to[bytes] = 0;
  return 1;
}

int tiny_is_same_text(const char* a, const char* b) {
  uint32_t i = 0;
  while (a[i] != 0 && a[i] == b[i]) ++i;
  return a[i] == b[i];
}

void tiny_put_text(tiny_out* out, const char* text) { tiny_put(out, text, tiny_length(text)); }

void tiny_put_decimal(tiny_out* out, uint64_t number) {
  char digits[20];
  uint32_t at = sizeof digits;
  do {
    digits[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  tiny_put(out, digits + at, (uint32_t)sizeof digits - at);
}

void tiny_put_hex(tiny_out* out, const uint8_t* bytes, uint32_t count) {
  static const char kDigits[] = "0123456789abcdef";
  for (uint32_t i = 0; i < count; ++i) {
    char pair[2];
    pair[0] = kDigits[bytes[i] >> 4];
    pair[1] = kDigits[bytes[i] & 15];
    tiny_put(out, pair, 2);
  }
}

static const char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void tiny_put_base64url(tiny_out* out, const uint8_t* bytes, uint32_t count) {
  uint32_t bits = 0, held = 0;
  for (uint32_t i = 0; i < count; ++i) {
    held = (held << 8 | bytes[i]) & 0xffff;
    for (bits += 8; bits >= 6; bits -= 6) tiny_put(out, kBase64 + (held >> (bits - 6) & 63), 1);
  }
  if (bits > 0) tiny_put(out, kBase64 + (held << (6 - bits) & 63), 1);
}

void tiny_put_little(tiny_out* out, uint64_t number, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) {
    const uint8_t byte = (uint8_t)(number >> (8 * i) & 0xff);
    tiny_put(out, &byte, 1);
  }
}

void tiny_put_zeros(tiny_out* out, uint32_t count) {
  static const uint8_t kZeros[64] = {0};
  for (; count > sizeof kZeros && !out->is_full; count -= (uint32_t)sizeof kZeros) tiny_put(out, kZeros, sizeof kZeros);
  tiny_put(out, kZeros, out->is_full ? 0 : count);
}

int tiny_decimal(const uint8_t* text, uint32_t bytes, uint64_t* number) {
  *number = 0;
  if (bytes == 0 || bytes > 18) return 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    if (text[i] < '0' || text[i] > '9') return 0;
    *number = *number * 10 + (uint64_t)(text[i] - '0');
  }
  return 1;
}

static int hex_digit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int tiny_hex(const uint8_t* text, uint32_t bytes, uint8_t* to, uint32_t count) {
  if (bytes != 2 * count) return 0;
  for (uint32_t i = 0; i < count; ++i) {
    const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return 0;
    to[i] = (uint8_t)(high << 4 | low);
  }
  return 1;
}

int tiny_base64url(const uint8_t* text, uint32_t bytes, uint8_t* to, uint32_t count) {
  uint32_t bits = 0, held = 0, made = 0;
  if (bytes != (4 * count + 2) / 3) return 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    uint32_t digit = 0;
    while (digit < 64 && (uint8_t)kBase64[digit] != text[i]) ++digit;
    if (digit == 64) return 0;
    held = (held << 6 | digit) & 0xffff;
    bits += 6;
    if (bits < 8 || made == count) continue;
    bits -= 8;
    to[made++] = (uint8_t)(held >> bits & 0xff);
  }
  return made == count && (held & ((1u << bits) - 1)) == 0;
}

uint64_t tiny_little(const uint8_t* bytes, uint32_t count) {
  uint64_t number = 0;
  for (uint32_t i = count; i-- > 0;) number = number << 8 | bytes[i];
  return number;
}

float tiny_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t tiny_float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

int tiny_is_finite(float value) { return (tiny_float_bits(value) & 0x7f800000u) != 0x7f800000u; }
