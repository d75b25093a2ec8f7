package org.coterie;

/** A participant in federated rounds. One thread at a time, but for {@link #cancel} and {@link #setConditions}. */
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
    /** The Ed25519 key of an authority that certifies devices, 32 bytes, or null: there is none. */
    public byte[] authorityKey;
    /**
     * The authority's word about this device's key ({@link Client#identity}), or null: none yet, and plans of level
     * ACTIVE and above are refused as "certificate", also when it has ended.
     */
    public byte[] certificate;
    /** What the device must be like, and may spend in a day; null: none, and no limits. */
    public Requirements requirements;
    /** The group that this device is in, 1 to 8, for jobs that serve the worst served group best; 0: in none. */
    public long group;
  }

  private static final int AUTHORITY_KEY_BYTES = 32; // as coterie.h has them
  private static final int CERTIFICATE_BYTES_MAX = 1024;

  private final Object lock = new Object(); // of the handle, because of cancel() and setConditions()
  private final Refusal.Listener onRefused;
  private long handle;

  /** An authorityKey or a certificate of another size is an IllegalArgumentException. */
  public Client(Options options, Dataset dataset) {
    byte[][] authority = {
      sized("authorityKey", options.authorityKey, AUTHORITY_KEY_BYTES, AUTHORITY_KEY_BYTES),
      sized("certificate", options.certificate, 1, CERTIFICATE_BYTES_MAX)
    };
    byte[][] texts = {
      Native.utf8(options.serverUrl), Native.utf8(options.caFile), Native.utf8(options.stateDir),
      Native.utf8(options.enrollmentToken)
    };
    long[] integers = {
      options.useP256 ? 1 : 0, options.seed, options.trainMsMax, options.checkinMsMax, options.checkpointSteps,
      options.policy.securityLevelMin == null ? 0 : options.policy.securityLevelMin.ordinal(), options.policy.cohortMin, options.policy.separationMin,
      options.policy.attemptsMax, options.policy.securityLevelMin == SecurityLevel.NONE ? 1 : 0,
      options.policy.openingsMax, options.policy.acceptsAnalytics ? 1 : 0, options.group
    };
    double[] limits = {
      options.policy.epsilonRoundMax, options.policy.epsilonTotalMax, options.policy.deltaMax,
      options.policy.corruptShareMin
    };
    onRefused = options.onRefused;
    Requirements required = options.requirements;
    handle =
        Native.clientOpen(
            texts, authority, integers, limits, required == null ? null : required.integers(),
            required == null ? null : required.amounts(), options.transport, dataset.handle());
  }

  // A copy, as other threads may write to the app's; the library reads so many bytes, whatever there are.
  private static byte[] sized(String name, byte[] bytes, int least, int most) {
    if (bytes == null) return null;
    byte[] copy = bytes.clone();
    if (copy.length >= least && copy.length <= most) return copy;
    String sizes = least == most ? "" + least : least + " to " + most;
    throw new IllegalArgumentException(name + " has " + copy.length + " bytes, it must have " + sizes + " or be null");
  }

  /** This device's own key: what an authority certifies ({@link Options#certificate}). */
  public Identity identity() {
    return Native.clientIdentity(handle);
  }

  /** Does one small thing: a request, a slice of training, or nothing. */
  public Progress step() {
    Progress progress = Native.clientStep(handle);
    if (progress.refusal != null && onRefused != null) onRefused.onRefused(progress.refusal);
    return progress;
  }

  /**
   * From any thread: what the device is like from now on. Nothing is known before the first call. Training under way
   * stops at its next step if a requirement is no longer met, and keeps a checkpoint.
   */
  public void setConditions(Conditions conditions) {
    long[] integers = conditions.integers();
    synchronized (lock) {
      Native.clientSetConditions(handle, integers);
    }
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
