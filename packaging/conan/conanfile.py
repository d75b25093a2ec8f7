"""The SDK of the tree that this recipe lies in, without the server: conan create packaging/conan --build=missing"""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps


class Coterie(ConanFile):
    name = "coterie"
    license = "Apache-2.0"
    description = "On-device training for federated learning: the SDK, without the server"
    topics = ("federated-learning", "on-device-training")
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"

    def _tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = re.search(r"project\(coterie VERSION (\S+)", load(self, os.path.join(self._tree(), "CMakeLists.txt"))).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "base/*", "cmake/*", "proto/*", "secure/*", "train_kernels/*", "vertical/*", "device_sdk/*",
                        "aggregation/*", "scheduler/*", "tools/model/*", "bindings/python/*", "examples/*", "deploy/*", "docs/*", "tools/dev/*"):
            copy(self, pattern, self._tree(), self.export_sources_folder)

    def requirements(self):
        self.requires("boost/1.83.0", options={"header_only": True})
        self.requires("flatbuffers/2.0.8")
        self.requires("highway/1.0.7")
        self.requires("libsodium/1.0.18")
        self.requires("openssl/[>=3.0 <4]")

    def build_requirements(self):
        self.tool_requires("flatbuffers/<host_version>")
        self.tool_requires("pkgconf/2.2.0")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COTERIE_BUILD_SERVER"] = False
        toolchain.cache_variables["COTERIE_BUILD_TESTS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package brings its own CoterieConfig.cmake and coterie.pc.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "Coterie")]
        self.cpp_info.libs = ["coterie"]
