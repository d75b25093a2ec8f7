package org.coterie;

/** coterie_identity: a device's own key, made when its state directory was first opened. What an authority certifies. */
public final class Identity {
  public final KeyAlgorithm algorithm;
  public final byte[] publicKey; // Ed25519: 32 bytes; P-256: 65, an uncompressed point (X9.62)

  Identity(int algorithm, byte[] publicKey) {
    this.algorithm = KeyAlgorithm.of(algorithm);
    this.publicKey = publicKey;
  }
}
