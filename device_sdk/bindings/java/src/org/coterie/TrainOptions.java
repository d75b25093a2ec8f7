package org.coterie;

import java.util.ArrayList;
import java.util.List;

/** The members of coterie_train_options, with the same meaning; what is left alone is the library's choice. */
public final class TrainOptions {
  public String loss;
  public String optimizer;
  public String schedule;
  public String lora;
  public String storage;
  public String lossScale;
  public String augment;
  public String ignoreLabel;
  public String qat;
  public String optimise;
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
  public int trainLast;
  public int threads;
  public long seed;
  public long memoryBytesMax;
  public long memoryBudgetBytes;
  public final List<String> freeze = new ArrayList<>();
  public final List<String> trainOnly = new ArrayList<>();
  public final List<String> channels = new ArrayList<>();
  public final List<String> groups = new ArrayList<>();
  /** Outputs with a loss each: "age:mean_squared_error:0.5". A target has theirs one behind the other. */
  public final List<String> heads = new ArrayList<>();
  public float[] classWeights = {};
  /** 32 bytes, or null. The caller's to wipe: they are copied when a trainer is opened. */
  public byte[] checkpointKey;

  // In the order in which jni/binding.c takes them out.
  Object[] flat() {
    byte[][] texts = {
      Native.utf8(loss), Native.utf8(optimizer), Native.utf8(schedule), Native.utf8(lora), Native.utf8(storage),
      Native.utf8(lossScale), Native.utf8(augment), Native.utf8(ignoreLabel), Native.utf8(qat),
      Native.utf8(optimise)
    };
    return new Object[] {
      texts, floats(), integers(), Native.utf8(freeze), Native.utf8(trainOnly), Native.utf8(channels),
      Native.utf8(groups), Native.utf8(heads), classWeights == null ? new float[0] : classWeights, checkpointKey
    };
  }

  private float[] floats() {
    return new float[] {
      learningRate, momentum, weightDecay, beta1, beta2, epsilon, smoothing, labelSmoothing, lossThreshold, clipNorm, clipValue
    };
  }

  private long[] integers() {
    return new long[] {
      nesterov ? 1 : 0, targetsAreValues ? 1 : 0, freezeStatistics ? 1 : 0, size("batchSize", batchSize),
      size("microBatchSize", microBatchSize), size("epochs", epochs), size("stepsMax", stepsMax), seed,
      memoryBytesMax, size("trainLast", trainLast), size("threads", threads), memoryBudgetBytes
    };
  }

  private static long size(String name, int value) {
    if (value < 0) throw new IllegalArgumentException(name + " is " + value + ", it must be at least 0");
    return value;
  }
}
