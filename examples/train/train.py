"""The smallest program that trains, in Python: load a model, 10 steps, evaluate, save."""
import sys

import coterie

if len(sys.argv) != 4:
    sys.exit("Usage: train.py MODEL DATA OUTPUT")
try:
    model, data = coterie.Model.load(sys.argv[1]), coterie.Dataset.open(sys.argv[2])
    trained = model.train(data, optimizer="adam", learning_rate=0.01, epochs=100, steps_max=10,
                          on_step=lambda progress: print(f"step {progress.steps}: loss {progress.step_loss:.4f}"))
    evaluation = trained.evaluate(data)
    trained.save(sys.argv[3])
    print(f"loss {evaluation.loss:.4f}, accuracy {evaluation.accuracy:.3f}, saved as {sys.argv[3]}")
except coterie.CoterieError as error:
    sys.exit(f"train.py: {error}")
