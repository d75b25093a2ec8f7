package org.coterie;

/** What went wrong; status and its name ("not_found") are those of coterie.h. */
public final class CoterieException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int status;
  private final String statusName;

  CoterieException(int status, byte[] name, byte[] message) {
    super(Native.text(name) + ": " + Native.text(message));
    this.status = status;
    this.statusName = Native.text(name);
  }

  public int status() {
    return status;
  }

  public String statusName() {
    return statusName;
  }
}
