// swift-tools-version:5.7
import PackageDescription

let package = Package(
    name: "Coterie",
    products: [.library(name: "Coterie", targets: ["Coterie"])],
    targets: [
        // The C headers and libcoterie, found where they are installed.
        .systemLibrary(name: "CCoterie", pkgConfig: "coterie"),
        .target(name: "Coterie", dependencies: ["CCoterie"]),
    ]
)
