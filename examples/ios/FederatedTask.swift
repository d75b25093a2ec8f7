// Takes part in rounds while the system gives the app time in the background: the device is charged and has a network. When the
// time is over, the training keeps a checkpoint and goes on from there in the next task.
import BackgroundTasks
import Coterie
import Foundation
import UIKit

enum FederatedTask {
    /// Also in Info.plist, BGTaskSchedulerPermittedIdentifiers.
    static let identifier = "org.coterie.example.federated"
    private static let serverURL = "https://fl.example.org:8443"
    private static let enrollmentToken = ""  // of `coterie token create`; needed until the device is enrolled
    private static let waitMsMax: UInt32 = 60_000  // rather than be awake for nothing

    /// Called once, before application(_:didFinishLaunchingWithOptions:) returns.
    static func register() {
        UIDevice.current.isBatteryMonitoringEnabled = true
        BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { task in
            schedule()  // the next one
            run(task)
        }
    }

    /// Called when the app goes to the background, too.
    static func schedule() {
        let request = BGProcessingTaskRequest(identifier: identifier)
        request.requiresExternalPower = true
        request.requiresNetworkConnectivity = true
        request.earliestBeginDate = Date(timeIntervalSinceNow: 6 * 3600)
        try? BGTaskScheduler.shared.submit(request)
    }

    private static func run(_ task: BGTask) {
        let stop = Stop()
        task.expirationHandler = { stop.now() }
        do {
            try takePart(stop)
            task.setTaskCompleted(success: true)
        } catch {
            task.setTaskCompleted(success: false)
        }
    }

    private static func takePart(_ stop: Stop) throws {
        let support = try FileManager.default.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        var options = ClientOptions(serverURL: serverURL, stateDirectory: support.appendingPathComponent("coterie").path)
        options.enrollmentToken = enrollmentToken
        options.transport = URLSessionTransport(serverURL: serverURL)
        var requirements = Requirements()
        requirements.charging = true
        requirements.thermalMax = COTERIE_THERMAL_FAIR
        requirements.cpuSecondsPerDay = 600
        requirements.uploadBytesPerDay = 20 << 20
        options.requirements = requirements

        // The app's own data, which never leave.
        let data = try Dataset(path: support.appendingPathComponent("examples.cotf").path)
        let client = try Client(options: options, dataset: data) { print("refused: \($0.reason): \($0.text)") }
        stop.client = client
        defer { stop.client = nil }
        while !stop.isOver {
            try client.setConditions(conditions())
            let progress = try client.step()
            if progress.activity == COTERIE_ACTIVITY_HELD || progress.waitMs > waitMsMax { return }
            Thread.sleep(forTimeInterval: Double(progress.waitMs) / 1000)
        }
    }

    /// What cannot be known stays unknown, which meets no requirement.
    private static func conditions() -> Conditions {
        var now = Conditions()
        let battery = UIDevice.current
        if battery.batteryState != .unknown { now.charging = battery.batteryState != .unplugged }
        if battery.batteryLevel > 0 { now.batteryPercent = max(1, UInt32(battery.batteryLevel * 100)) }
        switch ProcessInfo.processInfo.thermalState {
        case .nominal: now.thermal = COTERIE_THERMAL_NOMINAL
        case .fair: now.thermal = COTERIE_THERMAL_FAIR
        case .serious: now.thermal = COTERIE_THERMAL_SERIOUS
        case .critical: now.thermal = COTERIE_THERMAL_CRITICAL
        @unknown default: now.thermal = COTERIE_THERMAL_UNKNOWN
        }
        return now
    }
}

/// The system's word that time is over, which comes on a thread of its own.
private final class Stop {
    private let lock = NSLock()
    private var over = false
    private var held: Client?

    var isOver: Bool { lock.withLock { over } }
    var client: Client? {
        get { lock.withLock { held } }
        set { lock.withLock { held = newValue } }
    }

    func now() {
        lock.withLock {
            over = true
            held?.cancel()
        }
    }
}
