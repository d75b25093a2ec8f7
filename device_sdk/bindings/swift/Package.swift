// swift-tools-version:5.7
import Foundation
import PackageDescription

// On Apple's systems the C interface is CCoterie.xcframework beside this file, which tools/dev/make_xcframework.sh makes: headers, module and
// static library in one. Elsewhere headers and libcoterie are found where they are installed.
let framework = "CCoterie.xcframework"
let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
let hasFramework = FileManager.default.fileExists(atPath: here.appendingPathComponent(framework).path)

let package = Package(
    name: "Coterie",
    platforms: [.iOS("16.3"), .macOS("13.3")],
    products: [.library(name: "Coterie", targets: ["Coterie"])],
    targets: [
        hasFramework
            ? .binaryTarget(name: "CCoterie", path: framework)
            : .systemLibrary(name: "CCoterie", pkgConfig: "coterie"),
        .target(
            name: "Coterie", dependencies: ["CCoterie"],
            linkerSettings: hasFramework ? [.linkedLibrary("c++")] : []),
    ]
)
