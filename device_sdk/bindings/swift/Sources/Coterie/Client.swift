// A participant in federated rounds, in Swift, over coterie.h. Rules about threads are those of coterie.h.
import CCoterie

/// The members of coterie_policy, with the same meaning; 0 is its default.
public struct Policy {
    /// nil is the default; COTERIE_SECURITY_NONE is said aloud.
    public var securityLevelMin: coterie_security_level?
    public var cohortMin: UInt32 = 0
    public var epsilonRoundMax = 0.0
    public var epsilonTotalMax = 0.0
    public var deltaMax = 0.0
    public var separationMin: UInt64 = 0
    public var corruptShareMin = 0.0
    public var attemptsMax: UInt32 = 0
    public var openingsMax: UInt32 = 0
    /// Whether this device counts its examples for jobs that train nothing.
    public var acceptsAnalytics = false

    public init() {}

    func withC<R>(_ body: (UnsafePointer<coterie_policy>) throws -> R) rethrows -> R {
        var c = coterie_policy()
        c.struct_size = MemoryLayout<coterie_policy>.stride
        c.security_level_min = UInt32((securityLevelMin ?? COTERIE_SECURITY_NONE).rawValue)
        c.accepts_none = securityLevelMin == COTERIE_SECURITY_NONE ? 1 : 0
        c.cohort_min = cohortMin
        c.epsilon_round_max = epsilonRoundMax
        c.epsilon_total_max = epsilonTotalMax
        c.delta_max = deltaMax
        c.separation_min = separationMin
        c.corrupt_share_min = corruptShareMin
        c.attempts_max = attemptsMax
        c.openings_max = openingsMax
        c.accepts_analytics = acceptsAnalytics ? 1 : 0
        return try withUnsafePointer(to: c) { try body($0) }
    }
}

/// A plan that this device did not train under, because of its policy.
public struct Refusal {
    public let reason: String
    public let text: String
    public let job: String
    public let round: UInt64
    public let attempt: UInt32
    /// From here on: what the plan promised.
    public let cohortMin: UInt32
    public let securityLevel: coterie_security_level
    public let epsilonRound: Double
    public let delta: Double
    /// By this device so far.
    public let epsilonSpent: Double
    public let deltaSpent: Double

    init(_ c: coterie_refusal) {
        reason = String(cString: c.reason)
        text = String(cString: c.text)
        job = String(cString: c.job)
        round = c.round
        attempt = c.attempt
        cohortMin = c.cohort_min
        securityLevel = c.security_level
        epsilonRound = c.epsilon_round
        delta = c.delta
        epsilonSpent = c.epsilon_spent
        deltaSpent = c.delta_spent
    }
}

/// The members of coterie_requirements, with the same meaning: what the device must be like before a client does
/// anything, and what it may spend in a day of UTC. What is left alone is not asked for, and has no limit.
public struct Requirements {
    public var idle = false
    public var charging = false
    public var unmetered = false
    public var foreground = false
    public var background = false
    public var batteryPercentMin: UInt32 = 0
    public var thermalMax = COTERIE_THERMAL_UNKNOWN
    public var freeMemoryBytesMin: UInt64 = 0
    public var cpuSecondsPerDay = 0.0
    public var uploadBytesPerDay: UInt64 = 0
    public var downloadBytesPerDay: UInt64 = 0
    /// An estimate: CPU seconds times watts, which it needs.
    public var joulesPerDay = 0.0
    public var watts = 0.0
    /// What the device trains in jobs that let it choose a width: memory of a training, and a share of the channels.
    public var trainingBytesMax: UInt64 = 0
    public var widthMax = 0.0

    public init() {}

    var c: coterie_requirements {
        var c = coterie_requirements()
        c.struct_size = MemoryLayout<coterie_requirements>.stride
        c.idle = idle ? 1 : 0
        c.charging = charging ? 1 : 0
        c.unmetered = unmetered ? 1 : 0
        c.foreground = foreground ? 1 : 0
        c.background = background ? 1 : 0
        c.battery_percent_min = batteryPercentMin
        c.thermal_max = UInt32(thermalMax.rawValue)
        c.free_memory_bytes_min = freeMemoryBytesMin
        c.cpu_seconds_per_day = cpuSecondsPerDay
        c.upload_bytes_per_day = uploadBytesPerDay
        c.download_bytes_per_day = downloadBytesPerDay
        c.joules_per_day = joulesPerDay
        c.watts = watts
        c.training_bytes_max = trainingBytesMax
        c.width_max = widthMax
        return c
    }
}

/// The members of coterie_conditions, with the same meaning: what the device is like now. nil, 0 and
/// COTERIE_THERMAL_UNKNOWN are unknown, which meets no requirement.
public struct Conditions {
    public var idle: Bool?
    public var charging: Bool?
    public var unmetered: Bool?
    public var foreground: Bool?
    /// 1 to 100.
    public var batteryPercent: UInt32 = 0
    public var thermal = COTERIE_THERMAL_UNKNOWN
    public var freeMemoryBytes: UInt64 = 0

    public init() {}

    private static func answer(_ known: Bool?) -> UInt32 {
        guard let known = known else { return UInt32(COTERIE_ANSWER_UNKNOWN.rawValue) }
        return UInt32((known ? COTERIE_ANSWER_YES : COTERIE_ANSWER_NO).rawValue)
    }

    var c: coterie_conditions {
        var c = coterie_conditions()
        c.struct_size = MemoryLayout<coterie_conditions>.stride
        c.idle = Conditions.answer(idle)
        c.charging = Conditions.answer(charging)
        c.unmetered = Conditions.answer(unmetered)
        c.foreground = Conditions.answer(foreground)
        c.battery_percent = batteryPercent
        c.thermal = UInt32(thermal.rawValue)
        c.free_memory_bytes = freeMemoryBytes
        return c
    }
}

public struct Progress {
    public let activity: coterie_activity
    public let status: coterie_status
    public let waitMs: UInt32
    public let roundsDone: UInt64
    public let trainingSteps: UInt64
    public let trainingExamples: UInt64
    public let trainingLoss: Double
    /// What holds the client back, if activity is COTERIE_ACTIVITY_HELD.
    public let hold: coterie_hold
    /// Held out by the round's plan, and their lowest mean loss so far; 0 before there is one.
    public let validationExamples: UInt64
    public let validationLoss: Double
    /// Training ended for it.
    public let stoppedEarly: Bool
}

public enum KeyAlgorithm: UInt32 {
    case ed25519 = 1
    case p256 = 2
}

/// A device's own key, made when its state directory was first opened: what an authority certifies.
public struct Identity {
    public let algorithm: KeyAlgorithm
    /// Ed25519: 32 bytes; P-256: 65, an uncompressed point (X9.62).
    public let publicKey: [UInt8]

    init(_ c: coterie_identity) throws {
        guard let known = KeyAlgorithm(rawValue: c.key_algorithm) else {
            throw CoterieError(
                status: COTERIE_UNSUPPORTED_VERSION,
                message: "identity.key_algorithm is \(c.key_algorithm), this package knows 1 (Ed25519) and 2 (P-256)")
        }
        algorithm = known
        publicKey = withUnsafeBytes(of: c.public_key) { Array($0.prefix(Int(c.public_key_size))) }
    }
}

/// One request for the app's own HTTPS: `target` is path and query, to be appended to the server's URL.
public struct HTTPRequest {
    public let method: String
    public let target: String
    public let headers: [(name: String, value: String)]
    public let contentType: String?
    /// nil: no body.
    public let body: [UInt8]?
    /// The server may hold the request this long before it answers.
    public let answerMsMax: UInt32
}

public struct HTTPResponse {
    public var status: Int
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The app's own HTTPS, for example URLSession's. It must verify the server's certificate.
public protocol Transport: AnyObject {
    /// Sends one request and waits; nil means that no answer came. Called inside step().
    func send(_ request: HTTPRequest) -> HTTPResponse?
}

public struct ClientOptions {
    /// Not needed with a transport.
    public var serverURL: String
    /// nil: the library's own HTTPS, if it was built in.
    public var transport: Transport?
    public var caFile: String?
    public var stateDirectory: String
    public var enrollmentToken: String?
    public var useP256 = false
    public var seed: UInt64 = 0
    public var policy = Policy()
    /// The Ed25519 key of an authority that certifies devices, 32 bytes; nil: there is none.
    public var authorityKey: [UInt8]?
    /// The authority's word about this device's key (`Client.identity()`); nil: none yet, and plans of level
    /// `COTERIE_SECURITY_ACTIVE` and above are refused as "certificate", also when it has ended.
    public var certificate: [UInt8]?
    /// nil: none, and no limits.
    public var requirements: Requirements?
    /// That this device is in, 1 to 8, for jobs that serve the worst served group best; 0: in none.
    public var group: UInt64 = 0

    public init(serverURL: String, stateDirectory: String) {
        self.serverURL = serverURL
        self.stateDirectory = stateDirectory
    }

    /// The authority's two, good inside only. A wrong size throws: the library reads so many bytes, whatever there are.
    func withAuthority<R>(_ body: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?) throws -> R) throws -> R {
        try withBytes("authorityKey", authorityKey, sizes: 32...Int(COTERIE_AUTHORITY_KEY_BYTES)) { key in
            try withBytes("certificate", certificate, sizes: 1...Int(COTERIE_CERTIFICATE_BYTES_MAX)) {
                try body(key, $0)
            }
        }
    }

    /// Good inside only.
    func withRequirements<R>(_ body: (UnsafePointer<coterie_requirements>?) throws -> R) rethrows -> R {
        guard let required = requirements?.c else { return try body(nil) }
        return try withUnsafePointer(to: required) { try body($0) }
    }

    private func withBytes<R>(
        _ name: String, _ bytes: [UInt8]?, sizes: ClosedRange<Int>, _ body: (UnsafePointer<UInt8>?) throws -> R
    ) throws -> R {
        guard let bytes = bytes else { return try body(nil) }
        guard sizes.contains(bytes.count) else {
            throw CoterieError(
                status: COTERIE_INVALID_ARGUMENT,
                message: "\(name) has \(bytes.count) bytes, it must have \(sizes.lowerBound) to \(sizes.upperBound) or be nil")
        }
        return try bytes.withUnsafeBufferPointer { try body($0.baseAddress) }
    }
}

public final class Client {
    private var handle: OpaquePointer?
    private let dataset: Dataset
    private let onRefused: (Refusal) -> Void
    private let transport: Transport?

    /// `onRefused` is called inside step().
    public init(options: ClientOptions, dataset: Dataset, onRefused: @escaping (Refusal) -> Void = { _ in }) throws {
        self.dataset = dataset
        self.onRefused = onRefused
        self.transport = options.transport
        var c = coterie_options()
        c.struct_size = MemoryLayout<coterie_options>.stride
        c.use_p256 = options.useP256 ? 1 : 0
        c.seed = options.seed
        c.group = options.group
        c.refused_context = Unmanaged.passUnretained(self).toOpaque()
        c.on_refused = { context, refusal in
            Unmanaged<Client>.fromOpaque(context!).takeUnretainedValue().onRefused(Refusal(refusal!.pointee))
        }
        var http = coterie_transport()
        http.struct_size = MemoryLayout<coterie_transport>.stride
        http.context = Unmanaged.passUnretained(self).toOpaque()
        http.send = { context, request, reply in
            Unmanaged<Client>.fromOpaque(context!).takeUnretainedValue().send(request!.pointee, reply)
        }
        try withText(options.serverURL) { url in
            try withText(options.caFile) { caFile in
                try withText(options.stateDirectory) { directory in
                    try withText(options.enrollmentToken) { token in
                        try options.policy.withC { policy in
                            try options.withAuthority { authorityKey, certificate in
                                try options.withRequirements { requirements in
                                    c.server_url = url
                                    c.ca_file = caFile
                                    c.state_dir = directory
                                    c.enrollment_token = token
                                    c.policy = policy
                                    c.authority_key = authorityKey
                                    c.certificate = certificate
                                    c.certificate_size = options.certificate?.count ?? 0
                                    c.requirements = requirements
                                    try withUnsafePointer(to: http) { http in
                                        c.transport = options.transport == nil ? nil : http
                                        try opening { coterie_client_open(&c, &dataset.c, &handle, $0, $1) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    deinit { coterie_client_close(&handle) }

    private func send(_ c: coterie_http_request, _ reply: OpaquePointer?) -> Int32 {
        var headers: [(name: String, value: String)] = []
        for i in 0..<c.header_count {
            headers.append((String(cString: c.headers[i].name), String(cString: c.headers[i].value)))
        }
        let request = HTTPRequest(
            method: String(cString: c.method), target: String(cString: c.target), headers: headers,
            contentType: c.content_type.map { String(cString: $0) },
            body: c.body.map { Array(UnsafeBufferPointer(start: $0, count: c.body_bytes)) },
            answerMsMax: c.answer_ms_max)
        guard let answer = transport?.send(request) else { return 1 }
        coterie_http_reply_status(reply, Int32(answer.status))
        for header in answer.headers { coterie_http_reply_header(reply, header.name, header.value) }
        return answer.body.withUnsafeBufferPointer { coterie_http_reply_body(reply, $0.baseAddress, $0.count) }
    }

    /// This device's own key: what an authority certifies (`ClientOptions.certificate`).
    public func identity() throws -> Identity {
        var c = coterie_identity()
        c.struct_size = MemoryLayout<coterie_identity>.stride
        try dataset.check(coterie_client_identity(handle, &c), coterie_client_last_error(handle))
        return try Identity(c)
    }

    /// Does one small thing: a request, a slice of training, or nothing.
    public func step() throws -> Progress {
        var c = coterie_progress()
        c.struct_size = MemoryLayout<coterie_progress>.stride
        try dataset.check(coterie_client_step(handle, &c), coterie_client_last_error(handle))
        return Progress(
            activity: c.activity, status: c.step_status, waitMs: c.wait_ms, roundsDone: c.rounds_done,
            trainingSteps: c.training_steps, trainingExamples: c.training_examples, trainingLoss: c.training_loss,
            hold: c.hold, validationExamples: c.validation_examples, validationLoss: c.validation_loss,
            stoppedEarly: c.stopped_early != 0)
    }

    /// From any thread, while the client is there: what the device is like from now on. Nothing is known before.
    public func setConditions(_ conditions: Conditions) throws {
        var c = conditions.c
        let status = coterie_client_set_conditions(handle, &c)
        guard status == COTERIE_OK else {
            throw CoterieError(status: status, message: "conditions: a member is out of range")
        }
    }

    /// From any thread, while the client is there.
    public func cancel() { coterie_client_cancel(handle) }

    public var lastError: String { String(cString: coterie_client_last_error(handle)) }
}
