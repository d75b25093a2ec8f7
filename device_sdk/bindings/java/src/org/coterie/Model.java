package org.coterie;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** A model: what is in it, what it says, how good it is. One thread at a time. */
public final class Model implements AutoCloseable {
  private static final int INPUT = 0, PARAMETER = 1, OUTPUT = 2;

  private long handle;

  Model(long handle) {
    this.handle = handle;
  }

  public static Model open(String path) {
    return new Model(Native.modelOpen(Native.utf8(path)));
  }

  public static Model open(byte[] bytes) {
    return new Model(Native.modelOpenBytes(Objects.requireNonNull(bytes)));
  }

  public ModelInfo info() {
    return Native.modelInfo(handle);
  }

  public Tensor input(int index) {
    return Native.modelTensor(handle, INPUT, index);
  }

  public Tensor output() {
    return output(0);
  }

  /** Of a model with several: 0 is its own, which predict() gives. */
  public Tensor output(int index) {
    return Native.modelTensor(handle, OUTPUT, index);
  }

  public Tensor parameter(int index) {
    return Native.modelTensor(handle, PARAMETER, index);
  }

  /** Fills {@code values}, which has the parameter's number of elements. */
  public void get(String parameter, float[] values) {
    Native.modelGet(handle, Native.utf8(parameter), Objects.requireNonNull(values));
  }

  public void set(String parameter, float[] values) {
    Native.modelSet(handle, Native.utf8(parameter), Objects.requireNonNull(values));
  }

  /** Other classes for a trained model: its last layer, by name, with fresh weights drawn by the seed. */
  public void replaceHead(String layer, int classes, long seed) {
    Native.modelReplaceHead(handle, Native.utf8(layer), classes, seed);
  }

  /** Of one or more examples, one behind the other, of the model's only input. */
  public float[] predict(float[] features) {
    return predict(Math.toIntExact(features.length / input(0).elements), new Object[] {features});
  }

  /** A float[] or an int[] for each input, as the model takes them. */
  public float[] predict(int examples, Object[] inputs) {
    check(examples, inputs);
    float[] output = outputOf(output(), examples);
    Native.modelPredict(handle, inputs, examples, output);
    return output;
  }

  /** What all of its outputs say, by their names and in their order: the first is what predict() gives. */
  public Map<String, float[]> predictAll(float[] features) {
    return predictAll(Math.toIntExact(features.length / input(0).elements), new Object[] {features});
  }

  /** A float[] or an int[] for each input, as the model takes them. */
  public Map<String, float[]> predictAll(int examples, Object[] inputs) {
    check(examples, inputs);
    Map<String, float[]> all = new LinkedHashMap<>();
    for (int i = 0, count = info().outputCount; i < count; ++i) {
      Tensor output = output(i);
      all.put(output.name, outputOf(output, examples));
    }
    Native.modelPredictAll(handle, inputs, examples, all.values().toArray(new float[0][]));
    return all;
  }

  private static void check(int examples, Object[] inputs) {
    for (Object input : inputs) {
      if (!(input instanceof float[]) && !(input instanceof int[])) {
        throw new IllegalArgumentException("an input must be a float[] or an int[]");
      }
    }
    if (examples < 0) throw new IllegalArgumentException("examples must be at least 0");
  }

  private static float[] outputOf(Tensor output, int examples) {
    return new float[Math.toIntExact(Math.multiplyExact(output.elements, (long) examples))];
  }

  public Evaluation evaluate(Dataset dataset, TrainOptions options) {
    return Native.modelEvaluate(handle, dataset.handle(), options.flat());
  }

  /** What each of the options' heads comes to, in their order. */
  public List<Head> evaluateHeads(Dataset dataset, TrainOptions options) {
    return Arrays.asList(Native.modelEvaluateHeads(handle, dataset.handle(), options.flat()));
  }

  /**
   * Measures by their names, a value for each: "top-5" (or another number, one of them), "precision", "recall" and "f1"
   * (means over the classes), "auc", "mae", "rmse", "r2", "perplexity".
   */
  public double[] measure(Dataset dataset, TrainOptions options, String... names) {
    byte[][] texts = new byte[names.length][];
    for (int i = 0; i < names.length; ++i) texts[i] = Native.utf8(names[i]);
    return Native.modelMeasure(handle, dataset.handle(), options.flat(), texts);
  }

  /** What memory() of a trainer on so many examples would say. */
  public TrainMemory planTraining(TrainOptions options, long examples) {
    return Native.modelPlanTraining(handle, examples, options.flat());
  }

  /** Durably: the old file or the new one, whatever happens. */
  public void save(String path) {
    Native.modelSave(handle, Native.utf8(path));
  }

  public byte[] bytes() {
    return Native.modelBytes(handle);
  }

  long handle() {
    return handle;
  }

  @Override
  public void close() {
    Native.modelClose(handle);
    handle = 0;
  }
}
