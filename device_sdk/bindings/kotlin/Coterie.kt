/** The Java classes as Kotlin likes them: options as a block, steps as a sequence, lambdas as data sets. */
package org.coterie

/** `Trainer(model, data) { optimizer = "adam"; epochs = 3 }`; of several outputs, `heads += "age:l1:0.5"` for each */
fun Trainer(model: Model, data: Dataset, options: TrainOptions.() -> Unit = {}): Trainer =
    Trainer(model, TrainOptions().apply(options), data)

/** `trainOptions { optimizer = "adam" }` */
fun trainOptions(options: TrainOptions.() -> Unit): TrainOptions = TrainOptions().apply(options)

/** Examples of the app's own: `datasetOf(size) { index, to -> ... }` */
fun datasetOf(size: Long, read: (index: Long, to: Example) -> Unit): Dataset =
    Dataset.of(size) { index, to -> read(index, to) }

/** `privacyPolicy { securityLevelMin = SecurityLevel.ACTIVE; epsilonTotalMax = 4.0 }` */
fun privacyPolicy(limits: Policy.() -> Unit): Policy = Policy().apply(limits)

/**
 * `Client(data, onRefused = { log(it.text) }) { stateDir = path; policy = privacyPolicy { cohortMin = 50 } }`. Where an
 * authority certifies devices: `authorityKey = pinned; certificate = stored`, for the key `client.identity().publicKey`.
 */
fun Client(data: Dataset, onRefused: (Refusal) -> Unit = {}, options: Client.Options.() -> Unit): Client =
    Client(Client.Options().apply(options).apply { this.onRefused = Refusal.Listener { onRefused(it) } }, data)

/** `deviceRequirements { charging = true; batteryPercentMin = 50 }`, for [Client.Options.requirements] */
fun deviceRequirements(members: Requirements.() -> Unit): Requirements = Requirements().apply(members)

/** `client.setConditions { charging = true; thermal = Thermal.NOMINAL }`: all of it, from any thread */
fun Client.setConditions(members: Conditions.() -> Unit) = setConditions(Conditions().apply(members))

/** Trains while it is iterated over, until the training is finished. */
fun Trainer.steps(): Sequence<TrainProgress> = sequence {
    var progress = progress()
    while (!progress.finished) {
        progress = step()
        yield(progress)
    }
}
