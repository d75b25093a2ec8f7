package org.coterie;

import java.util.Objects;

/** Examples that the app pushes, kept in memory: of a model with one float input, with one class each. */
public final class Examples implements AutoCloseable {
  private long handle;

  public Examples(Model model) {
    handle = Native.examplesOpen(model.handle());
  }

  public void add(float[] features, int label) {
    Native.examplesAdd(handle, Objects.requireNonNull(features), label);
  }

  public void clear() {
    Native.examplesClear(handle);
  }

  public long size() {
    return Native.examplesCount(handle);
  }

  /** Shows these, those added later included. */
  public Dataset dataset() {
    return new Dataset(Native.examplesDataset(handle));
  }

  @Override
  public void close() {
    Native.examplesClose(handle);
    handle = 0;
  }
}
