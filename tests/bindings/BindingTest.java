import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.coterie.Client;
import org.coterie.Conditions;
import org.coterie.CoterieException;
import org.coterie.Dataset;
import org.coterie.Evaluation;
import org.coterie.Examples;
import org.coterie.Head;
import org.coterie.Hold;
import org.coterie.Identity;
import org.coterie.KeyAlgorithm;
import org.coterie.Model;
import org.coterie.Policy;
import org.coterie.Progress;
import org.coterie.Refusal;
import org.coterie.Requirements;
import org.coterie.SecurityLevel;
import org.coterie.Thermal;
import org.coterie.TrainMemory;
import org.coterie.TrainOptions;
import org.coterie.TrainProgress;
import org.coterie.Trainer;
import org.coterie.Transport;

/** The Java binding, under -Xcheck:jni. Usage: BindingTest SAMPLES_DIRECTORY */
public final class BindingTest {
  private static String samples;
  private static int failures = 0;

  private interface Body {
    void run() throws Exception;
  }

  private static void check(boolean condition, String what) {
    if (condition) return;
    ++failures;
    System.out.println("failed: " + what + " at " + new Throwable().getStackTrace()[1]);
  }

  private static Throwable thrownBy(Body body) {
    try {
      body.run();
    } catch (Throwable thrown) {
      return thrown;
    }
    return null;
  }

  private static void fails(String status, String words, Body body) {
    Throwable thrown = thrownBy(body);
    boolean good = thrown instanceof CoterieException && ((CoterieException) thrown).statusName().equals(status);
    check(good && thrown.getMessage().contains(words), "expected " + status + " with " + words + ", seen " + thrown);
  }

  private static Model mlp() {
    return Model.open(samples + "/mlp.cotf");
  }

  private static Dataset images() {
    return Dataset.open(samples + "/images.cotf");
  }

  private static void models() throws IOException {
    fails("not_found", "/no/such/m\u00f6del \ud83d\ude00", () -> Model.open("/no/such/m\u00f6del \ud83d\ude00"));
    fails("malformed", "", () -> Model.open(new byte[10]));
    fails("invalid_argument", "path must not be NULL", () -> Model.open((String) null));
    check(thrownBy(() -> Model.open((byte[]) null)) instanceof NullPointerException, "null bytes");
    try (Model model = mlp()) {
      check(model.info().name.equals("mlp") && model.info().inputCount == 1, "info");
      check(Arrays.equals(model.input(0).shape, new long[] {4, 4, 1}) && !model.input(0).isInt, "input");
      check(model.output().elements == 3, "output");
      fails("not_found", "input 1 of 1", () -> model.input(1));
      fails("not_found", "", () -> model.parameter(-1));
      String bias = model.parameter(3).name;
      float[] values = {1, 2, 3};
      float[] before = model.predict(new float[16]);
      model.set(bias, values);
      float[] after = model.predict(new float[32]);
      check(after.length == 6 && Math.abs(after[1] - before[1] - 2) < 1e-5 && after[1] == after[4], "predict");
      Arrays.fill(values, 0);
      model.get(bias, values);
      check(values[2] == 3, "get");
      fails("invalid_argument", "has 3 values, not 2", () -> model.get(bias, new float[2]));
      fails("malformed", "not finite", () -> model.set(bias, new float[] {0, Float.NaN, 0}));
      try (Model copy = Model.open(model.bytes())) {
        check(Arrays.equals(copy.bytes(), model.bytes()), "bytes");
      }
    }
    try (Model two = Model.open(samples + "/two.cotf")) {
      check(two.input(0).isInt, "ints");
      Object[] inputs = {new int[3], new float[4]};
      check(two.predict(1, inputs).length == 2, "two inputs");
      Map<String, float[]> all = two.predictAll(1, inputs);
      check(all.size() == 1 && Arrays.equals(all.get(two.output().name), two.predict(1, inputs)), "the only output");
      fails("invalid_argument", "input 0 takes int32", () -> two.predictAll(1, new Object[] {new float[3], new float[4]}));
      fails("invalid_argument", "input 0 takes int32", () -> two.predict(1, new Object[] {new float[3], new float[4]}));
      fails("invalid_argument", "1 inputs", () -> two.predict(1, new Object[] {new int[3]}));
      check(thrownBy(() -> two.predict(1, new Object[] {null, null})) instanceof IllegalArgumentException, "null input");
    }
    Model closed = mlp();
    closed.close();
    closed.close();
    fails("invalid_argument", "NULL", closed::info);
    fails("invalid_argument", "NULL", closed::bytes);
  }

  private static TrainOptions options() {
    TrainOptions options = new TrainOptions();
    options.optimizer = "adam";
    options.learningRate = 0.01f;
    options.schedule = "cosine:warmup=5";
    options.batchSize = 12;
    options.epochs = 8;
    options.seed = 3;
    return options;
  }

  private static void training(Path directory) {
    Trainer trainer;
    try (Model model = mlp(); Dataset images = images()) {
      check(images.size() == 60, "size");
      trainer = new Trainer(model, options(), images);
      TrainMemory planned = model.planTraining(options(), 60);
      check(planned.arenaBytes == trainer.memory().arenaBytes && planned.microBatchSize == 12, "the plan");
      TrainOptions tight = options();
      tight.storage = "bf16";
      tight.lossScale = "dynamic";
      TrainMemory whole = model.planTraining(tight, 60);
      check(whole.gradientBytes == whole.parameterBytes && planned.gradientBytes == 0, "a scaled loss");
      tight.memoryBudgetBytes = whole.arenaBytes + whole.orderBytes - 1;
      TrainMemory fitted = model.planTraining(tight, 60);
      check(fitted.arenaBytes < whole.arenaBytes && fitted.microBatchSize < 12, "the budget");
      tight.memoryBudgetBytes = 100;
      fails("too_large", "needs at least", () -> model.planTraining(tight, 60));
      tight.storage = "int4";
      fails("invalid_argument", "is int4", () -> model.planTraining(tight, 60));
      fails("invalid_argument", "no examples", () -> model.planTraining(options(), 0));
    } // closed before the trainer that uses them
    check(trainer.progress().stepsInAll == 40 && trainer.memory().arenaBytes > 0, "progress");
    TrainProgress first = trainer.step();
    trainer.run(12);
    String checkpoint = directory.resolve("checkpoint").toString();
    trainer.saveCheckpoint(checkpoint);
    TrainProgress last = trainer.run(100);
    check(last.finished && last.steps == 40 && last.stepLoss < first.stepLoss / 2, "it learns");
    fails("conflict", "finished", trainer::step);
    try (Model model = mlp(); Dataset images = images(); Trainer again = new Trainer(model, options(), images)) {
      fails("conflict", "is a file of kind model", () -> again.restoreCheckpoint(samples + "/mlp.cotf"));
      again.restoreCheckpoint(checkpoint);
      check(again.progress().steps == 13, "resumed");
      again.run(100);
      try (Model one = trainer.model(); Model other = again.model()) {
        check(Arrays.equals(one.bytes(), other.bytes()), "the same bytes");
        Evaluation evaluation = one.evaluate(images, new TrainOptions());
        check(evaluation.examples == 60 && evaluation.accuracy > 0.95, "accuracy " + evaluation.accuracy);
        double[] measured = one.measure(images, new TrainOptions(), "top-1", "f1");
        check(measured.length == 2 && measured[0] == evaluation.accuracy && measured[1] > 0.9, "measures");
        fails("invalid_argument", "there is no f2", () -> one.measure(images, new TrainOptions(), "f2"));
        float[] from = new float[3], to = new float[3];
        one.get(one.parameter(3).name, from);
        trainer.get(one.parameter(3).name, to);
        check(Arrays.equals(from, to) && from[0] != 0, "parameters");
      }
    }
    trainer.close();
    trainer.close();
    fails("invalid_argument", "NULL", trainer::step);
  }

  private static void fineTuning(Path directory) {
    String checkpoint = directory.resolve("encrypted").toString();
    try (Model model = mlp(); Dataset images = images()) {
      model.replaceHead("dense2", 4, 7);
      check(model.output().elements == 4, "four outputs");
      fails("invalid_argument", "no layer fc", () -> model.replaceHead("fc", 4, 7));
      TrainOptions options = options();
      options.trainLast = 2;
      options.channels.add("dense1.*:50%");
      options.groups.add("dense1.*:lr=0.1");
      options.checkpointKey = new byte[32];
      try (Trainer trainer = new Trainer(model, options, images)) {
        trainer.run(3);
        trainer.saveCheckpoint(checkpoint);
        trainer.restoreCheckpoint(checkpoint);
      }
      options.checkpointKey = null;
      try (Trainer trainer = new Trainer(model, options, images)) {
        fails("permission_denied", "encrypted", () -> trainer.restoreCheckpoint(checkpoint));
      }
      options.checkpointKey = new byte[5];
      fails("invalid_argument", "it must have 32", () -> new Trainer(model, options, images));
      TrainOptions adapted = options();
      adapted.lora = "rank=2:*.weight";
      try (Trainer trainer = new Trainer(model, adapted, images); Model before = trainer.model()) {
        trainer.run(2);
        try (Model trained = trainer.model()) {
          check(trained.info().fileBytes == before.info().fileBytes, "merged");
          check(!Arrays.equals(trained.bytes(), before.bytes()), "trained");
        }
      }
    }
  }

  private static void badOptions() {
    try (Model model = mlp(); Dataset images = images()) {
      TrainOptions options = new TrainOptions();
      options.freeze.add("nothing.*");
      fails("invalid_argument", "nothing.*", () -> new Trainer(model, options, images));
      options.freeze.clear();
      options.trainOnly.add("dense2*");
      options.classWeights = new float[] {1, 1, 1};
      new Trainer(model, options, images).close();
      options.loss = "none";
      fails("invalid_argument", "it must be one of softmax_cross_entropy", () -> new Trainer(model, options, images));
      options.loss = null;
      options.optimise = "O4";
      fails("invalid_argument", "O4", () -> new Trainer(model, options, images));
      options.optimise = "O0";
      new Trainer(model, options, images).close();
      options.epochs = -1;
      check(thrownBy(() -> new Trainer(model, options, images)) instanceof IllegalArgumentException, "epochs");
    }
  }

  private static void int8() {
    try (Model model = Model.open(samples + "/int8.cotf");
        Model exact = Model.open(samples + "/mlp.cotf")) {
      check(model.info().computesInInt8 && !exact.info().computesInInt8, "says what it is");
      float[] image = new float[(int) exact.input(0).elements];
      image[3] = 1;
      float[] seen = model.predict(image), expected = exact.predict(image);
      for (int i = 0; i < expected.length; ++i) check(Math.abs(seen[i] - expected[i]) < 0.2f, "near at " + i);
      fails("invalid_argument", "computes in int8", () -> model.replaceHead("dense2", 5, 1));
    }
  }

  private static void heads() {
    try (Model model = Model.open(samples + "/heads.cotf")) {
      String classes = model.output(0).name, shade = model.output(1).name;
      check(classes.equals(model.output().name) && model.output(1).elements == 1, "outputs");
      fails("not_found", "output 2 of 2", () -> model.output(2));
      check(model.info().outputCount == 2 && model.info().inputCount == 1, "outputs in info");
      float[] features = new float[2 * (int) model.input(0).elements];
      features[3] = 1;
      Map<String, float[]> answers = model.predictAll(features);
      check(new ArrayList<>(answers.keySet()).equals(Arrays.asList(classes, shade)), "names " + answers.keySet());
      check(Arrays.equals(answers.get(classes), model.predict(features)), "its own output");
      float[] shades = answers.get(shade);
      check(shades.length == 2 && shades[0] != shades[1], "of two examples");
      check(model.predictAll(Arrays.copyOf(features, features.length / 2)).get(shade)[0] == shades[0], "of the first");
      fails("invalid_argument", "2 inputs", () -> model.predictAll(1, new Object[] {features, features}));
      check(thrownBy(() -> model.predictAll(-1, new Object[] {features})) instanceof IllegalArgumentException, "-1");
      TrainOptions options = new TrainOptions();
      options.targetsAreValues = true;
      options.batchSize = 4;
      options.epochs = 60;
      options.optimizer = "adam";
      options.learningRate = 0.02f;
      options.heads.add(classes + ":softmax_cross_entropy");
      options.heads.add(shade + ":mean_squared_error:0.25");
      Dataset.Reader reader =
          (index, to) -> {
            int bright = (int) index % 3; // of three blocks of pixels: the class, and behind it the shade
            Arrays.fill(to.floats(0), 0);
            Arrays.fill(to.floats(0), 5 * bright, 5 * bright + 5, 1);
            to.targets()[0] = bright;
            to.targets()[1] = 0.5f * bright;
          };
      try (Dataset data = Dataset.of(12, reader); Trainer trainer = new Trainer(model, options, data)) {
        trainer.run(1000);
        List<Head> seen = trainer.heads();
        check(seen.size() == 2 && seen.get(0).output.equals(classes) && seen.get(1).output.equals(shade), "whose");
        check(seen.get(1).loss.equals("mean_squared_error") && seen.get(1).weight == 0.25, "what is lowered");
        double sum = seen.get(0).lossMean + 0.25 * seen.get(1).lossMean;
        check(Math.abs(sum - trainer.progress().lossMean) < 1e-3, "the sum " + sum);
        try (Model trained = trainer.model()) {
          List<Head> judged = trained.evaluateHeads(data, options);
          check(judged.size() == 2 && judged.get(0).rows == 12, "rows");
          check(judged.get(0).measure.equals("accuracy") && judged.get(0).value == 1, "accuracy " + judged.get(0).value);
          check(judged.get(1).measure.equals("mae") && judged.get(1).value < 0.2, "mae " + judged.get(1).value);
          fails("invalid_argument", "heads", () -> trained.evaluateHeads(data, new TrainOptions()));
        }
        options.heads.set(1, "none:l1");
        fails("invalid_argument", "no output none", () -> new Trainer(model, options, data));
      }
    }
    try (Model model = mlp(); Dataset images = images(); Trainer trainer = new Trainer(model, options(), images)) {
      check(trainer.heads().isEmpty(), "no heads");
    }
  }

  private static void readers() {
    try (Model two = Model.open(samples + "/two.cotf")) {
      Dataset.Reader good =
          (index, to) -> {
            Arrays.fill(to.ints(0), (int) index);
            Arrays.fill(to.floats(1), 0.5f);
            to.label((int) index % 2);
          };
      try (Dataset data = Dataset.of(10, good); Trainer trainer = new Trainer(two, new TrainOptions(), data)) {
        check(trainer.run(5).finished, "a reader");
        check(two.evaluate(data, new TrainOptions()).examples == 10, "evaluate");
      }
      IOException own = new IOException("no such example");
      try (Dataset data = Dataset.of(10, (index, to) -> { throw own; });
          Trainer trainer = new Trainer(two, new TrainOptions(), data)) {
        check(thrownBy(trainer::step) == own, "what the reader throws");
        check(thrownBy(() -> two.evaluate(data, new TrainOptions())) == own, "likewise");
      }
      try (Dataset data = Dataset.of(10, (index, to) -> to.label(0)); Trainer trainer = new Trainer(two, new TrainOptions(), data)) {
        fails("invalid_argument", "has not filled every input", trainer::step);
      }
      try (Dataset data = Dataset.of(10, (index, to) -> to.ints(2)); Trainer trainer = new Trainer(two, new TrainOptions(), data)) {
        check(thrownBy(trainer::step) instanceof IndexOutOfBoundsException, "no such input");
      }
    }
    fails("malformed", "", () -> Dataset.open(samples + "/mlp.cotf"));
  }

  private static void pushed() {
    Dataset data;
    try (Model model = mlp(); Examples examples = new Examples(model)) {
      for (int i = 0; i < 9; ++i) examples.add(new float[16], i % 3);
      fails("invalid_argument", "input 0 takes 16 floats", () -> examples.add(new float[15], 0));
      data = examples.dataset();
      check(examples.size() == 9 && data.size() == 9, "size");
    } // the data set keeps them
    try (Model model = mlp(); Trainer trainer = new Trainer(model, new TrainOptions(), data)) {
      data.close();
      check(trainer.run(10).finished, "pushed examples");
    }
  }

  /** A device in the middle of a session whose app became stricter. */
  private static void refusals(Path directory, Client.Options options, Dataset images) throws IOException {
    Path state = directory.resolve("refusing");
    options.stateDir = state.toString();
    options.policy.cohortMin = 1;
    fails("invalid_argument", "cohort_min", () -> new Client(options, images));
    options.policy = new Policy();
    options.policy.securityLevelMin = SecurityLevel.ACTIVE;
    Path sample = Paths.get(samples, "refusing", "session.state");
    Files.createDirectories(state);
    Files.copy(sample, state.resolve("session.state"), StandardCopyOption.REPLACE_EXISTING);
    Refusal[] heard = new Refusal[1];
    options.onRefused = refusal -> heard[0] = refusal;
    try (Client client = new Client(options, images)) {
      check(client.step().refusal == heard[0] && heard[0] != null, "the listener hears");
      check(heard[0].reason.equals("security_level") && heard[0].job.equals("masked"), heard[0].text);
      check(heard[0].round == 5 && heard[0].attempt == 2 && heard[0].cohortMin == 7, "which plan");
      check(heard[0].securityLevel == SecurityLevel.MASKED && heard[0].epsilonSpent == 1.5, "what it promised");
      check(client.step().refusal == null, "once");
    }
    Files.copy(sample, state.resolve("session.state"), StandardCopyOption.REPLACE_EXISTING);
    options.onRefused = refusal -> { throw new IllegalStateException("the app's own"); };
    try (Client client = new Client(options, images)) {
      try {
        client.step();
        check(false, "what the listener throws comes out");
      } catch (IllegalStateException expected) {
        check(expected.getMessage().equals("the app's own"), "message");
      }
      check(client.step().refusal == null, "and the client goes on");
    }
  }

  private static void identities(Path directory, Client.Options options, Dataset images) {
    for (boolean useP256 : new boolean[] {false, true}) {
      options.useP256 = useP256;
      options.stateDir = directory.resolve("identity" + useP256).toString();
      byte[] first;
      Client closed;
      try (Client client = new Client(options, images)) {
        Identity identity = client.identity();
        check(identity.algorithm == (useP256 ? KeyAlgorithm.P256 : KeyAlgorithm.ED25519), "algorithm");
        check(identity.publicKey.length == (useP256 ? 65 : 32), "its size");
        first = identity.publicKey;
        closed = client;
      }
      fails("invalid_argument", "NULL", closed::identity);
      try (Client client = new Client(options, images)) {
        check(Arrays.equals(client.identity().publicKey, first), "made once");
      }
    }
    options.useP256 = false;
  }

  private static void isRefused(String words, Body body) {
    Throwable thrown = thrownBy(body);
    check(thrown instanceof IllegalArgumentException && thrown.getMessage().contains(words), words + ", seen " + thrown);
  }

  /** A device in the middle of a session of level active whose app has got an authority. */
  private static void certificates(Path directory, Client.Options options, Dataset images) throws IOException {
    Path sample = Paths.get(samples, "certified");
    Path state = directory.resolve("certified");
    Files.createDirectories(state);
    Files.copy(sample.resolve("state/identity.key"), state.resolve("identity.key"));
    byte[] certificate = Files.readAllBytes(sample.resolve("certificate"));
    options.stateDir = state.toString();
    options.policy = new Policy();
    options.policy.cohortMin = 7;
    options.onRefused = null;
    options.authorityKey = new byte[31];
    isRefused("authorityKey has 31 bytes, it must have 32", () -> new Client(options, images));
    options.authorityKey = Files.readAllBytes(sample.resolve("authority"));
    options.certificate = new byte[0];
    isRefused("certificate has 0 bytes, it must have 1 to 1024", () -> new Client(options, images));
    options.certificate = new byte[1025];
    isRefused("certificate has 1025 bytes, it must have 1 to 1024", () -> new Client(options, images));
    options.certificate = new byte[64];
    fails("invalid_argument", "is not by this authority", () -> new Client(options, images));
    options.certificate = null;
    Files.copy(sample.resolve("state/session.state"), state.resolve("session.state"));
    try (Client client = new Client(options, images)) {
      Refusal refusal = client.step().refusal;
      check(refusal != null && refusal.reason.equals("certificate") && refusal.job.equals("active"), "refused");
      check(refusal.securityLevel == SecurityLevel.ACTIVE && refusal.text.contains("certificate"), refusal.text);
    }
    Files.copy(sample.resolve("state/session.state"), state.resolve("session.state"), StandardCopyOption.REPLACE_EXISTING);
    options.certificate = certificate;
    try (Client client = new Client(options, images)) {
      check(client.step().refusal == null, "taken");
    }
    options.authorityKey = null;
    fails("invalid_argument", "needs the authority_key", () -> new Client(options, images));
    options.certificate = null;
  }

  private static void holds(Client client, Hold hold) {
    Progress progress = client.step();
    check(progress.hold == hold && progress.activity.equals("held") == (hold != Hold.NONE), hold + ", seen " + progress.hold);
  }

  /** Each requirement holds the client back until the app says otherwise, in the C interface's order. */
  private static void conditions(Path directory, Dataset images) {
    Client.Options options = new Client.Options();
    options.stateDir = directory.resolve("conditions").toString();
    options.transport = request -> { throw new IOException("no network"); };
    Requirements required = new Requirements();
    options.requirements = required;
    required.foreground = required.background = true;
    fails("invalid_argument", "foreground", () -> new Client(options, images));
    required.foreground = false;
    required.batteryPercentMin = -1;
    fails("invalid_argument", "battery_percent_min", () -> new Client(options, images));
    required.batteryPercentMin = 30;
    required.idle = required.charging = required.unmetered = true;
    required.thermalMax = Thermal.FAIR;
    required.freeMemoryBytesMin = 1 << 20;
    Client closed;
    try (Client client = new Client(options, images)) {
      Conditions now = new Conditions();
      holds(client, Hold.IDLE); // nothing is known
      now.idle = true;
      now.charging = false;
      client.setConditions(now);
      holds(client, Hold.CHARGING);
      now.charging = true;
      client.setConditions(now);
      holds(client, Hold.UNMETERED);
      now.unmetered = true;
      now.foreground = true;
      client.setConditions(now);
      holds(client, Hold.BACKGROUND);
      now.foreground = false;
      now.batteryPercent = 29;
      client.setConditions(now);
      holds(client, Hold.BATTERY);
      now.batteryPercent = 30;
      now.thermal = Thermal.SERIOUS;
      client.setConditions(now);
      holds(client, Hold.THERMAL);
      now.thermal = Thermal.FAIR;
      now.freeMemoryBytes = (1 << 20) - 1;
      client.setConditions(now);
      holds(client, Hold.FREE_MEMORY);
      now.freeMemoryBytes = 1 << 20;
      client.setConditions(now);
      holds(client, Hold.NONE);
      now.batteryPercent = 101;
      fails("invalid_argument", "conditions", () -> client.setConditions(now));
      holds(client, Hold.NONE);
      closed = client;
    }
    fails("invalid_argument", "NULL", () -> closed.setConditions(new Conditions()));
  }

  private static void clients(Path directory) throws IOException {
    Client.Options options = new Client.Options();
    try (Dataset images = images()) {
      fails("invalid_argument", "state_dir", () -> new Client(options, images));
      options.stateDir = directory.resolve("state").toString();
      options.enrollmentToken = "token";
      String[] seen = new String[1];
      options.transport =
          request -> {
            seen[0] = request.method + " " + request.target + " " + request.contentType + " " + request.body.length;
            Transport.Response response = new Transport.Response(429, "later".getBytes());
            response.headers.put("Retry-After", "1");
            return response;
          };
      try (Client client = new Client(options, images)) {
        Progress progress = client.step();
        check(progress.activity.equals("enrolled") && progress.statusName.equals("rate_limited"), progress.statusName);
        check(seen[0].startsWith("POST /v1/enrollments application/"), seen[0]);
        client.cancel();
        fails("cancelled", "cancelled", client::step);
      }
      options.transport = request -> { throw new IOException("no network"); };
      options.stateDir = directory.resolve("other").toString();
      try (Client client = new Client(options, images)) {
        check(client.step().statusName.equals("unavailable"), "no answer");
      }
      refusals(directory, options, images);
      identities(directory, options, images);
      certificates(directory, options, images);
      conditions(directory, images);
    }
  }

  public static void main(String[] arguments) throws Exception {
    samples = arguments[0];
    Path directory = Files.createTempDirectory("coterie-java");
    models();
    training(directory);
    fineTuning(directory);
    badOptions();
    heads();
    int8();
    readers();
    pushed();
    clients(directory);
    try (java.util.stream.Stream<Path> files = Files.walk(directory)) {
      files.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
    System.out.println(failures == 0 ? "all is well" : failures + " failures");
    System.exit(failures == 0 ? 0 : 1);
  }
}
