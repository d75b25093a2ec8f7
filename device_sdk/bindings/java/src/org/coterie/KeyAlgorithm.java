package org.coterie;

/** Of a device's key. */
public enum KeyAlgorithm {
  ED25519,
  P256;

  // The C interface counts from 1.
  static KeyAlgorithm of(int algorithm) {
    return values()[algorithm - 1];
  }
}
