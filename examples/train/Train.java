import org.coterie.CoterieException;
import org.coterie.Dataset;
import org.coterie.Evaluation;
import org.coterie.Model;
import org.coterie.TrainOptions;
import org.coterie.TrainProgress;
import org.coterie.Trainer;

/** The smallest program that trains, in Java: load a model, 10 steps, evaluate, save. */
public final class Train {
  public static void main(String[] arguments) {
    if (arguments.length != 3) {
      System.err.println("Usage: Train MODEL DATA OUTPUT");
      System.exit(2);
    }
    TrainOptions options = new TrainOptions();
    options.optimizer = "adam";
    options.learningRate = 0.01f;
    options.epochs = 100;
    options.stepsMax = 10;
    try (Model model = Model.open(arguments[0]);
        Dataset data = Dataset.open(arguments[1]);
        Trainer trainer = new Trainer(model, options, data)) {
      TrainProgress progress = trainer.progress();
      while (!progress.finished) {
        progress = trainer.step();
        System.out.printf("step %d: loss %.4f%n", progress.steps, progress.stepLoss);
      }
      try (Model trained = trainer.model()) {
        Evaluation evaluation = trained.evaluate(data, options);
        trained.save(arguments[2]);
        System.out.printf(
            "loss %.4f, accuracy %.3f, saved as %s%n", evaluation.lossMean, evaluation.accuracy, arguments[2]);
      }
    } catch (CoterieException error) {
      System.err.println("Train: " + error.getMessage());
      System.exit(1);
    }
  }
}
