package org.coterie;

import java.util.ArrayList;
import java.util.List;

/** The members of coterie_train_options, with the same meaning; what is left alone is the library's choice. */
public final class TrainOptions {
  public String loss;
  public String optimizer;
  public String schedule;
  public float learningRate;
  public float momentum;
  public float weightDecay;
  public float beta1;
  public float beta2;
  public float epsilon;
  public float smoothing;
  public float labelSmoothing;
  public float lossThreshold;
  public float clipNorm;
  public float clipValue;
  public boolean nesterov;
  public boolean targetsAreValues;
  public boolean freezeStatistics;
  public int batchSize;
  public int microBatchSize;
  public int epochs;
  public int stepsMax;
  public long seed;
  public long memoryBytesMax;
  public final List<String> freeze = new ArrayList<>();
  public final List<String> trainOnly = new ArrayList<>();
  public float[] classWeights = {};

  byte[][] texts() {
    return new byte[][] {Native.utf8(loss), Native.utf8(optimizer), Native.utf8(schedule)};
  }

  // In the order in which jni/binding.c takes them out.
  float[] floats() {
    return new float[] {
      learningRate, momentum, weightDecay, beta1, beta2, epsilon, smoothing, labelSmoothing, lossThreshold, clipNorm, clipValue
    };
  }

  long[] integers() {
    return new long[] {
      nesterov ? 1 : 0, targetsAreValues ? 1 : 0, freezeStatistics ? 1 : 0, size("batchSize", batchSize),
      size("microBatchSize", microBatchSize), size("epochs", epochs), size("stepsMax", stepsMax), seed,
      memoryBytesMax
    };
  }

  float[] weights() {
    return classWeights == null ? new float[0] : classWeights;
  }

  private static long size(String name, int value) {
    if (value < 0) throw new IllegalArgumentException(name + " is " + value + ", it must be at least 0");
    return value;
  }
}
