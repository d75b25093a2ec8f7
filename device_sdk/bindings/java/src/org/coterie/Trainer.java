package org.coterie;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Trains a model on examples. One thread at a time; model and data set may be closed before it. */
public final class Trainer implements AutoCloseable {
  private long handle;
  private final int headCount;

  public Trainer(Model model, TrainOptions options, Dataset dataset) {
    headCount = options.heads.size();
    handle = Native.trainerOpen(model.handle(), dataset.handle(), options.flat());
  }

  public TrainProgress step() {
    return Native.trainerStep(handle);
  }

  /** So many steps, or until it is finished. */
  public TrainProgress run(long steps) {
    TrainProgress progress = progress();
    for (long i = 0; i < steps && !progress.finished; ++i) progress = step();
    return progress;
  }

  public TrainProgress progress() {
    return Native.trainerProgress(handle);
  }

  /** Of the training so far, in the options' order; the progress has their weighted sum, and the first one's accuracy. */
  public List<Head> heads() {
    List<Head> heads = new ArrayList<>();
    for (int i = 0; i < headCount; ++i) heads.add(Native.trainerHead(handle, i));
    return heads;
  }

  public TrainMemory memory() {
    return Native.trainerMemory(handle);
  }

  public void saveCheckpoint(String path) {
    Native.trainerSaveCheckpoint(handle, Native.utf8(path));
  }

  public void restoreCheckpoint(String path) {
    Native.trainerRestoreCheckpoint(handle, Native.utf8(path));
  }

  /** The model as it is trained so far. */
  public Model model() {
    return new Model(Native.trainerModel(handle));
  }

  public void get(String parameter, float[] values) {
    Native.trainerGet(handle, Native.utf8(parameter), Objects.requireNonNull(values));
  }

  @Override
  public void close() {
    Native.trainerClose(handle);
    handle = 0;
  }
}
