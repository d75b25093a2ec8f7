// Coterie device SDK for Swift: owning classes over coterie.h and coterie_train.h. Rules about threads are those of
// coterie.h.
import CCoterie
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

public struct CoterieError: Error, CustomStringConvertible {
    public let status: coterie_status
    public let message: String
    public var description: String { String(cString: coterie_status_name(status)) + ": " + message }
}

/// Throws unless the status is good; the text is asked for then only.
func check(_ status: coterie_status, _ text: @autoclosure () -> UnsafePointer<CChar>?) throws {
    if status != COTERIE_OK { throw CoterieError(status: status, message: text().map { String(cString: $0) } ?? "") }
}

/// Calls what opens a handle, with room for its text.
func opening(_ open: (UnsafeMutablePointer<CChar>, Int) -> coterie_status) throws {
    var text = [CChar](repeating: 0, count: 1024)
    let status = text.withUnsafeMutableBufferPointer { open($0.baseAddress!, $0.count) }
    if status != COTERIE_OK { throw CoterieError(status: status, message: String(cString: text)) }
}

/// An array of C strings, good inside only.
func withTexts<R>(_ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) throws -> R) rethrows -> R {
    let copies = texts.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return try copies.map { UnsafePointer($0) }.withUnsafeBufferPointer { try body($0.baseAddress) }
}

func withText<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) throws -> R) rethrows -> R {
    guard let text = text else { return try body(nil) }
    return try text.withCString { try body($0) }
}

/// The members of coterie_train_options, with the same meaning; what is left alone is the library's choice.
public struct TrainOptions {
    public var loss: String?
    public var optimizer: String?
    public var schedule: String?
    public var learningRate: Float
    public var momentum: Float = 0
    public var weightDecay: Float = 0
    public var labelSmoothing: Float = 0
    public var clipNorm: Float = 0
    public var targetsAreValues = false
    public var freezeStatistics = false
    public var batchSize: UInt32
    public var microBatchSize: UInt32 = 0
    public var epochs: UInt32
    public var stepsMax: UInt32
    public var freeze: [String] = []
    public var trainOnly: [String] = []
    public var channels: [String] = []
    public var groups: [String] = []
    /// Outputs with a loss each: "age:mean_squared_error:0.5". A target has theirs one behind the other.
    public var heads: [String] = []
    public var lora: String?
    public var storage: String?
    public var lossScale: String?
    public var augment: String?
    public var ignoreLabel: String?
    public var qat: String?
    public var optimise: String?
    public var trainLast: UInt32 = 0
    public var threads: UInt32 = 0
    /// 32 bytes, or none: checkpoints are plain.
    public var checkpointKey: [UInt8] = []
    public var seed: UInt64 = 0
    public var memoryBytesMax: UInt64 = 0
    public var memoryBudgetBytes: UInt64 = 0

    public init(
        loss: String? = nil, optimizer: String? = nil, schedule: String? = nil, learningRate: Float = 0,
        batchSize: UInt32 = 0, epochs: UInt32 = 0, stepsMax: UInt32 = 0
    ) {
        self.loss = loss
        self.optimizer = optimizer
        self.schedule = schedule
        self.learningRate = learningRate
        self.batchSize = batchSize
        self.epochs = epochs
        self.stepsMax = stepsMax
    }

    func withC<R>(_ body: (UnsafePointer<coterie_train_options>) throws -> R) rethrows -> R {
        var c = coterie_train_options()
        c.struct_size = MemoryLayout<coterie_train_options>.stride
        c.learning_rate = learningRate
        c.momentum = momentum
        c.weight_decay = weightDecay
        c.label_smoothing = labelSmoothing
        c.clip_norm = clipNorm
        c.targets_are_values = targetsAreValues ? 1 : 0
        c.freeze_statistics = freezeStatistics ? 1 : 0
        c.batch_size = batchSize
        c.micro_batch_size = microBatchSize
        c.epochs = epochs
        c.steps_max = stepsMax
        c.seed = seed
        c.memory_bytes_max = memoryBytesMax
        c.memory_budget_bytes = memoryBudgetBytes
        c.freeze_count = freeze.count
        c.train_only_count = trainOnly.count
        c.channel_count = channels.count
        c.group_count = groups.count
        c.head_count = heads.count
        c.train_last = trainLast
        c.threads = threads
        c.checkpoint_key_size = checkpointKey.count
        return try withText(loss) { loss in
            try withText(optimizer) { optimizer in
                try withText(schedule) { schedule in
                    try withTexts(freeze) { freeze in
                        try withTexts(trainOnly) { trainOnly in
                            try withTexts(heads) { heads in
                                c.loss = loss
                                c.optimizer = optimizer
                                c.schedule = schedule
                                c.freeze = freeze
                                c.train_only = trainOnly
                                c.heads = heads
                                return try withFineTuning(c, body)
                            }
                        }
                    }
                }
            }
        }
    }
}

extension TrainOptions {
    /// The rest of withC.
    private func withFineTuning<R>(
        _ c: coterie_train_options, _ body: (UnsafePointer<coterie_train_options>) throws -> R
    ) rethrows -> R {
        var whole = c
        return try withText(lora) { lora in
            try withTexts(channels) { channels in
                try withTexts(groups) { groups in
                    try withText(storage) { storage in
                        try withText(lossScale) { lossScale in
                            try withText(augment) { augment in
                                try withText(ignoreLabel) { ignoreLabel in
                                    try withText(qat) { qat in
                                        try withText(optimise) { optimise in
                                            try checkpointKey.withUnsafeBufferPointer { key in
                                                whole.augment = augment
                                                whole.ignore_label = ignoreLabel
                                                whole.qat = qat
                                                whole.optimise = optimise
                                                whole.lora = lora
                                                whole.channels = channels
                                                whole.groups = groups
                                                whole.storage = storage
                                                whole.loss_scale = lossScale
                                                whole.checkpoint_key = key.isEmpty ? nil : key.baseAddress
                                                return try withUnsafePointer(to: whole) { try body($0) }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

public struct Evaluation {
    public let examples: UInt64
    public let lossMean: Double
    public let accuracy: Double
}

/// What one of several heads (the option `heads`) has come to.
public struct Head {
    public let output: String
    public let loss: String
    public let weight: Double
    /// Of the output that were compared.
    public let rows: UInt64
    /// Of those; not weighted.
    public let lossMean: Double
    /// "accuracy", in [0, 1]; "mae"; or "none".
    public let measure: String
    public let value: Double

    init(_ c: coterie_head) {
        output = String(cString: c.output)
        loss = String(cString: c.loss)
        weight = c.weight
        rows = c.rows
        lossMean = c.loss_mean
        measure = String(cString: c.measure)
        value = c.value
    }

    static func empty() -> coterie_head {
        var c = coterie_head()
        c.struct_size = MemoryLayout<coterie_head>.stride
        return c
    }
}

public struct TrainProgress {
    public let finished: Bool
    public let steps: UInt64
    public let stepsInAll: UInt64
    public let stepLoss: Double
    public let lossMean: Double
    public let accuracy: Double
    public let learningRate: Double
}

public struct TrainMemory {
    public let arenaBytes: UInt64
    public let parameterBytes: UInt64
    public let optimizerBytes: UInt64
    public let gradientBytes: UInt64
    public let plannedBytes: UInt64
    public let orderBytes: UInt64
    public let microBatchSize: UInt32
    public let recomputedSteps: UInt32
    public let recomputedShare: Double

    init(asking ask: (UnsafeMutablePointer<coterie_train_memory>) throws -> Void) rethrows {
        var c = coterie_train_memory()
        c.struct_size = MemoryLayout<coterie_train_memory>.stride
        try ask(&c)
        arenaBytes = c.arena_bytes
        parameterBytes = c.parameter_bytes
        optimizerBytes = c.optimizer_bytes
        gradientBytes = c.gradient_bytes
        plannedBytes = c.planned_bytes
        orderBytes = c.order_bytes
        microBatchSize = c.micro_batch_size
        recomputedSteps = c.recomputed_steps
        recomputedShare = c.recomputed_share
    }
}

public final class Model {
    let handle: OpaquePointer

    init(handle: OpaquePointer) { self.handle = handle }

    public init(path: String) throws {
        var opened: OpaquePointer?
        try opening { coterie_model_open(path, &opened, $0, $1) }
        handle = opened!
    }

    deinit {
        var closing: OpaquePointer? = handle
        coterie_model_close(&closing)
    }

    public var outputCount: Int {
        get throws {
            var tensor = coterie_tensor()
            tensor.struct_size = MemoryLayout<coterie_tensor>.stride
            try check(coterie_model_output(handle, &tensor), coterie_model_last_error(handle))
            return Int(tensor.elements)
        }
    }

    /// Whether it predicts by integers, and is not trained.
    public var computesInInt8: Bool {
        get throws {
            var info = coterie_model_info()
            info.struct_size = MemoryLayout<coterie_model_info>.stride
            try check(coterie_model_describe(handle, &info), coterie_model_last_error(handle))
            return info.computes_in_int8 != 0
        }
    }

    /// Other classes for a trained model: its last layer, by name, with fresh weights drawn by the seed.
    public func replaceHead(_ layer: String, classes: UInt32, seed: UInt64 = 0) throws {
        try check(coterie_model_replace_head(handle, layer, classes, seed), coterie_model_last_error(handle))
    }

    /// Of `examples` examples, one behind the other, of the model's only input.
    public func predict(_ features: [Float], examples: Int = 1) throws -> [Float] {
        var output = [Float](repeating: 0, count: try outputCount * examples)
        let status = features.withUnsafeBufferPointer { floats -> coterie_status in
            var input = coterie_values(floats: floats.baseAddress, ints: nil, count: floats.count)
            return coterie_model_predict(handle, &input, 1, examples, &output, output.count)
        }
        try check(status, coterie_model_last_error(handle))
        return output
    }

    /// Likewise what all of the model's outputs say, by their names; `predict` gives the model's own.
    public func predictAll(_ features: [Float], examples: Int = 1) throws -> [String: [Float]] {
        var info = coterie_model_info()
        info.struct_size = MemoryLayout<coterie_model_info>.stride
        try check(coterie_model_describe(handle, &info), coterie_model_last_error(handle))
        var names: [String] = []
        var sizes: [Int] = []
        for index in 0..<info.output_count {
            var tensor = coterie_tensor()
            tensor.struct_size = MemoryLayout<coterie_tensor>.stride
            try check(coterie_model_output_at(handle, index, &tensor), coterie_model_last_error(handle))
            names.append(String(cString: tensor.name))
            sizes.append(Int(tensor.elements) * examples)
        }
        let places = sizes.map { size -> UnsafeMutablePointer<Float>? in
            let place = UnsafeMutablePointer<Float>.allocate(capacity: max(size, 1))
            place.initialize(repeating: 0, count: max(size, 1))
            return place
        }
        defer { places.forEach { $0?.deallocate() } }
        let status = features.withUnsafeBufferPointer { floats -> coterie_status in
            var input = coterie_values(floats: floats.baseAddress, ints: nil, count: floats.count)
            return coterie_model_predict_all(handle, &input, 1, examples, places, sizes, sizes.count)
        }
        try check(status, coterie_model_last_error(handle))
        var answers: [String: [Float]] = [:]
        for (index, name) in names.enumerated() {
            answers[name] = Array(UnsafeBufferPointer(start: places[index], count: sizes[index]))
        }
        return answers
    }

    public func evaluate(_ dataset: Dataset, options: TrainOptions = TrainOptions()) throws -> Evaluation {
        var result = coterie_evaluation()
        result.struct_size = MemoryLayout<coterie_evaluation>.stride
        let status = options.withC { coterie_model_evaluate(handle, &dataset.c, $0, &result) }
        try dataset.check(status, coterie_model_last_error(handle))
        return Evaluation(examples: result.examples, lossMean: result.loss_mean, accuracy: result.accuracy)
    }

    /// What each of the options' heads comes to, in their order.
    public func evaluateHeads(_ dataset: Dataset, options: TrainOptions) throws -> [Head] {
        var heads = [coterie_head](repeating: Head.empty(), count: options.heads.count)
        let count = heads.count
        let status = options.withC { coterie_model_evaluate_heads(handle, &dataset.c, $0, &heads, count, nil) }
        try dataset.check(status, coterie_model_last_error(handle))
        return heads.map { Head($0) }
    }

    /// Measures by their names, a value for each: "top-5" (or another number, one of them), "precision", "recall" and
    /// "f1" (means over the classes), "auc", "mae", "rmse", "r2", "perplexity".
    public func measure(_ dataset: Dataset, _ names: [String], options: TrainOptions = TrainOptions()) throws -> [Double] {
        var values = [Double](repeating: 0, count: names.count)
        let status = withTexts(names) { texts in
            options.withC { coterie_model_measure(handle, &dataset.c, $0, texts, names.count, &values, nil) }
        }
        try dataset.check(status, coterie_model_last_error(handle))
        return values
    }

    /// What memory() of a trainer on so many examples would say.
    public func planTraining(options: TrainOptions, examples: UInt64) throws -> TrainMemory {
        try TrainMemory { memory in
            let status = options.withC { coterie_model_plan_training(handle, $0, examples, memory) }
            try check(status, coterie_model_last_error(handle))
        }
    }

    /// Durably: the old file or the new one, whatever happens.
    public func save(to path: String) throws {
        try check(coterie_model_save(handle, path), coterie_model_last_error(handle))
    }
}

/// Where one example is to be written: a place for each input of the model, one for the target.
public struct Example {
    let c: UnsafePointer<coterie_example>

    public func floats(_ input: Int = 0) -> UnsafeMutableBufferPointer<Float> {
        precondition(input < c.pointee.input_count)
        return UnsafeMutableBufferPointer(start: c.pointee.inputs[input].floats, count: c.pointee.inputs[input].count)
    }
    public func ints(_ input: Int = 0) -> UnsafeMutableBufferPointer<Int32> {
        precondition(input < c.pointee.input_count)
        return UnsafeMutableBufferPointer(start: c.pointee.inputs[input].ints, count: c.pointee.inputs[input].count)
    }
    public var labels: UnsafeMutableBufferPointer<Int32> {
        UnsafeMutableBufferPointer(start: c.pointee.target.ints, count: c.pointee.target.count)
    }
    public var targets: UnsafeMutableBufferPointer<Float> {
        UnsafeMutableBufferPointer(start: c.pointee.target.floats, count: c.pointee.target.count)
    }
}

/// Examples: those of a data set file, or of the app's own. Trainers keep it alive.
public final class Dataset {
    var c = coterie_dataset()
    private let count: UInt64
    private let read: ((UInt64, Example) throws -> Void)?
    private var thrown: Error?

    public init(path: String) throws {
        count = 0
        read = nil
        c.struct_size = MemoryLayout<coterie_dataset>.stride
        try opening { coterie_dataset_open(path, &c, $0, $1) }
    }

    /// What `read` throws comes out of the call that asked.
    public init(count: UInt64, read: @escaping (UInt64, Example) throws -> Void) {
        self.count = count
        self.read = read
        c.struct_size = MemoryLayout<coterie_dataset>.stride
        c.context = Unmanaged.passUnretained(self).toOpaque()
        c.size = { Unmanaged<Dataset>.fromOpaque($0!).takeUnretainedValue().count }
        c.read_example = { context, index, example in
            let dataset = Unmanaged<Dataset>.fromOpaque(context!).takeUnretainedValue()
            do {
                try dataset.read!(index, Example(c: example!))
                return 0
            } catch {
                dataset.thrown = error
                return 1
            }
        }
    }

    deinit { coterie_dataset_close(&c) }

    func check(_ status: coterie_status, _ text: @autoclosure () -> UnsafePointer<CChar>?) throws {
        let own = thrown
        thrown = nil
        if let own = own, status != COTERIE_OK { throw own }
        try Coterie.check(status, text())
    }
}

public final class Trainer {
    private let handle: OpaquePointer
    private let dataset: Dataset
    private let headCount: Int

    public init(model: Model, options: TrainOptions = TrainOptions(), dataset: Dataset) throws {
        var opened: OpaquePointer?
        try options.withC { options in
            try opening { coterie_trainer_open(model.handle, options, &dataset.c, &opened, $0, $1) }
        }
        handle = opened!
        self.dataset = dataset
        headCount = options.heads.count
    }

    deinit {
        var closing: OpaquePointer? = handle
        coterie_trainer_close(&closing)
    }

    public func step() throws -> TrainProgress {
        try asked { coterie_trainer_step(handle, $0) }
    }

    public func progress() throws -> TrainProgress {
        try asked { coterie_trainer_progress(handle, $0) }
    }

    /// Of the training so far, in the options' order; the progress has their weighted sum, and the first one's accuracy.
    public func heads() throws -> [Head] {
        try (0..<headCount).map { index in
            var c = Head.empty()
            try dataset.check(coterie_trainer_head(handle, index, &c), coterie_trainer_last_error(handle))
            return Head(c)
        }
    }

    public func memory() throws -> TrainMemory {
        try TrainMemory { memory in
            try dataset.check(coterie_trainer_memory(handle, memory), coterie_trainer_last_error(handle))
        }
    }

    public func saveCheckpoint(to path: String) throws {
        try dataset.check(coterie_trainer_save_checkpoint(handle, path), coterie_trainer_last_error(handle))
    }

    public func restoreCheckpoint(from path: String) throws {
        try dataset.check(coterie_trainer_restore_checkpoint(handle, path), coterie_trainer_last_error(handle))
    }

    /// The model as it is trained so far.
    public func model() throws -> Model {
        var trained: OpaquePointer?
        try dataset.check(coterie_trainer_model(handle, &trained), coterie_trainer_last_error(handle))
        return Model(handle: trained!)
    }

    private func asked(_ ask: (UnsafeMutablePointer<coterie_train_progress>) -> coterie_status) throws -> TrainProgress {
        var c = coterie_train_progress()
        c.struct_size = MemoryLayout<coterie_train_progress>.stride
        try dataset.check(ask(&c), coterie_trainer_last_error(handle))
        return TrainProgress(
            finished: c.finished != 0, steps: c.steps, stepsInAll: c.steps_in_all, stepLoss: c.step_loss,
            lossMean: c.loss_mean, accuracy: c.accuracy, learningRate: c.learning_rate)
    }
}
