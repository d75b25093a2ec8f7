package org.coterie;

/**
 * Where a reader writes one example: an array for each input of the model and one for the target, all of which must be
 * filled. The arrays are the same from read to read.
 */
public final class Example {
  private final int[] counts;
  private final Object[] places; // float[] or int[], as the reader asks; the last is the target

  Example(int[] counts) {
    this.counts = counts;
    this.places = new Object[counts.length];
  }

  public int inputCount() {
    return counts.length - 1;
  }

  public float[] floats(int input) {
    return floatsAt(checked(input));
  }

  public int[] ints(int input) {
    return intsAt(checked(input));
  }

  /** What a regression is to give. */
  public float[] targets() {
    return floatsAt(inputCount());
  }

  public int[] labels() {
    return intsAt(inputCount());
  }

  public void label(int label) {
    labels()[0] = label;
  }

  private int checked(int input) {
    if (input >= 0 && input < inputCount()) return input;
    throw new IndexOutOfBoundsException("input " + input + " of " + inputCount());
  }

  private float[] floatsAt(int place) {
    if (!(places[place] instanceof float[])) places[place] = new float[counts[place]];
    return (float[]) places[place];
  }

  private int[] intsAt(int place) {
    if (!(places[place] instanceof int[])) places[place] = new int[counts[place]];
    return (int[]) places[place];
  }
}
