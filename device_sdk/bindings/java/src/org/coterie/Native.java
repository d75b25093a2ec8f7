package org.coterie;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The native methods, as jni/ has them. Texts cross as UTF-8. */
final class Native {
  static {
    System.loadLibrary("coterie_jni");
  }

  private Native() {}

  static byte[] utf8(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[][] utf8(List<String> texts) {
    byte[][] all = new byte[texts.size()][];
    for (int i = 0; i < all.length; ++i) all[i] = utf8(Objects.requireNonNull(texts.get(i)));
    return all;
  }

  static String text(byte[] utf8) {
    return utf8 == null ? null : new String(utf8, StandardCharsets.UTF_8);
  }

  /** Called by clients: {status and headers, one a line; body}, or null for no answer. */
  static Object[] send(
      Transport transport, byte[] method, byte[] target, byte[][] headers, byte[] contentType, byte[] body, int answerMsMax)
      throws IOException {
    List<String> list = new ArrayList<>();
    for (byte[] header : headers) list.add(text(header));
    Transport.Response response =
        transport.send(new Transport.Request(text(method), text(target), list, text(contentType), body, answerMsMax));
    if (response == null) return null;
    StringBuilder head = new StringBuilder().append(response.status);
    for (Map.Entry<String, String> header : response.headers.entrySet()) {
      head.append('\n').append(header.getKey()).append('\n').append(header.getValue());
    }
    return new Object[] {utf8(head.toString()), response.body};
  }

  static native long modelOpen(byte[] path);
  static native long modelOpenBytes(byte[] bytes);
  static native void modelClose(long model);
  static native ModelInfo modelInfo(long model);
  static native Tensor modelTensor(long model, int kind, int index);
  static native void modelGet(long model, byte[] name, float[] values);
  static native void modelSet(long model, byte[] name, float[] values);
  static native void modelPredict(long model, Object[] inputs, int examples, float[] output);
  static native void modelPredictAll(long model, Object[] inputs, int examples, float[][] outputs);
  static native Evaluation modelEvaluate(long model, long dataset, Object[] options);
  static native Head[] modelEvaluateHeads(long model, long dataset, Object[] options);
  static native double[] modelMeasure(long model, long dataset, Object[] options, byte[][] names);
  static native TrainMemory modelPlanTraining(long model, long examples, Object[] options);
  static native void modelReplaceHead(long model, byte[] layer, int classes, long seed);
  static native void modelSave(long model, byte[] path);
  static native byte[] modelBytes(long model);

  static native long trainerOpen(long model, long dataset, Object[] options);
  static native void trainerClose(long trainer);
  static native TrainProgress trainerStep(long trainer);
  static native TrainProgress trainerProgress(long trainer);
  static native Head trainerHead(long trainer, int index);
  static native TrainMemory trainerMemory(long trainer);
  static native void trainerSaveCheckpoint(long trainer, byte[] path);
  static native void trainerRestoreCheckpoint(long trainer, byte[] path);
  static native long trainerModel(long trainer);
  static native void trainerGet(long trainer, byte[] name, float[] values);

  static native long datasetOpen(byte[] path);
  static native long datasetOf(long size, Dataset.Reader reader);
  static native long datasetSize(long dataset);
  static native void datasetClose(long dataset);
  static native long examplesOpen(long model);
  static native void examplesAdd(long examples, float[] features, int label);
  static native long examplesCount(long examples);
  static native void examplesClear(long examples);
  static native long examplesDataset(long examples);
  static native void examplesClose(long examples);

  static native long clientOpen(
      byte[][] texts, byte[][] authority, long[] integers, double[] limits, long[] required, double[] amounts,
      Transport transport, long dataset);
  static native void clientClose(long client);
  static native Identity clientIdentity(long client);
  static native Progress clientStep(long client);
  static native void clientSetConditions(long client, long[] integers);
  static native void clientCancel(long client);
}
