package org.coterie;

/** An input, the output or a parameter of a model; the shape is of one example. */
public final class Tensor {
  public final String name;
  public final boolean isInt;
  public final long[] shape;
  public final long elements;

  Tensor(byte[] name, boolean isInt, long[] shape, long elements) {
    this.name = Native.text(name);
    this.isInt = isInt;
    this.shape = shape;
    this.elements = elements;
  }
}
