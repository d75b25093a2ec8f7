package org.coterie;

/** Examples to train on. Trainers and clients keep what they need of it: it may be closed before them. */
public final class Dataset implements AutoCloseable {
  /** Reads examples of the app's own. */
  public interface Reader {
    /** Writes example {@code index}; what it throws comes out of the call that asked. It must not close anything. */
    void read(long index, Example to) throws Exception;
  }

  private long handle;

  Dataset(long handle) {
    this.handle = handle;
  }

  /** A data set file. */
  public static Dataset open(String path) {
    return new Dataset(Native.datasetOpen(Native.utf8(path)));
  }

  /** For models whose inputs have one shape. */
  public static Dataset of(long size, Reader reader) {
    if (size < 0 || reader == null) throw new IllegalArgumentException("size must be at least 0, reader not null");
    return new Dataset(Native.datasetOf(size, reader));
  }

  public long size() {
    return Native.datasetSize(handle);
  }

  long handle() {
    return handle;
  }

  @Override
  public void close() {
    Native.datasetClose(handle);
    handle = 0;
  }
}
