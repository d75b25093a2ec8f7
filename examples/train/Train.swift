// The smallest program that trains, in Swift: load a model, 10 steps, evaluate, save.
import Coterie

let arguments = CommandLine.arguments
guard arguments.count == 4 else { fatalError("Usage: Train MODEL DATA OUTPUT") }

let options = TrainOptions(optimizer: "adam", learningRate: 0.01, epochs: 100, stepsMax: 10)
let model = try Model(path: arguments[1])
let data = try Dataset(path: arguments[2])
let trainer = try Trainer(model: model, options: options, dataset: data)
while try !trainer.progress().finished {
    let progress = try trainer.step()
    print("step \(progress.steps): loss \(progress.stepLoss)")
}
let trained = try trainer.model()
let evaluation = try trained.evaluate(data, options: options)
try trained.save(to: arguments[3])
print("loss \(evaluation.lossMean), accuracy \(evaluation.accuracy), saved as \(arguments[3])")
