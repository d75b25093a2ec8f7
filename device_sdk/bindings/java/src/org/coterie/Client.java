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
    public Policy policy = new Policy();
    public Refusal.Listener onRefused;
  }

  private final Object lock = new Object(); // of the handle, because of cancel()
  private final Refusal.Listener onRefused;
  private long handle;

  public Client(Options options, Dataset dataset) {
    byte[][] texts = {
      Native.utf8(options.serverUrl), Native.utf8(options.caFile), Native.utf8(options.stateDir),
      Native.utf8(options.enrollmentToken)
    };
    long[] integers = {
      options.useP256 ? 1 : 0, options.seed, options.trainMsMax, options.checkinMsMax, options.checkpointSteps,
      options.policy.securityLevelMin.ordinal(), options.policy.cohortMin, options.policy.separationMin
    };
    double[] limits = {options.policy.epsilonRoundMax, options.policy.epsilonTotalMax, options.policy.deltaMax};
    onRefused = options.onRefused;
    handle = Native.clientOpen(texts, integers, limits, options.transport, dataset.handle());
  }

  /** Does one small thing: a request, a slice of training, or nothing. */
  public Progress step() {
    Progress progress = Native.clientStep(handle);
    if (progress.refusal != null && onRefused != null) onRefused.onRefused(progress.refusal);
    return progress;
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
