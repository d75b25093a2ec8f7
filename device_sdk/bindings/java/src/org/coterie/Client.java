package org.coterie;

/** A participant in federated rounds. One thread at a time, but for {@link #cancel}. */
public final class Client implements AutoCloseable {
  /** The members of coterie_options, with the same meaning. */
  public static final class Options {
    public String serverUrl;
    public String caFile;
    public String stateDir;
    public String enrollmentToken;
    public boolean useP256;
    public long seed;
    public int trainMsMax;
    public int checkinMsMax;
    public int checkpointSteps;
    public Transport transport;
  }

  private final Object lock = new Object(); // of the handle, because of cancel()
  private long handle;

  public Client(Options options, Dataset dataset) {
    byte[][] texts = {
      Native.utf8(options.serverUrl), Native.utf8(options.caFile), Native.utf8(options.stateDir),
      Native.utf8(options.enrollmentToken)
    };
    long[] integers = {
      options.useP256 ? 1 : 0, options.seed, options.trainMsMax, options.checkinMsMax, options.checkpointSteps
    };
    handle = Native.clientOpen(texts, integers, options.transport, dataset.handle());
  }

  /** Does one small thing: a request, a slice of training, or nothing. */
  public Progress step() {
    return Native.clientStep(handle);
  }

  /** From any thread: ends a step under way, soon, and every later one at once. */
  public void cancel() {
    synchronized (lock) {
      Native.clientCancel(handle);
    }
  }

  @Override
  public void close() {
    synchronized (lock) {
      Native.clientClose(handle);
      handle = 0;
    }
  }
}
