// The SDK as an Android library: its Java classes, Coterie.kt, and libcoterie_jni.so of each ABI, built by the NDK from this tree.
// ./gradlew :coterie:assembleRelease leaves coterie/build/outputs/aar/coterie-release.aar.
plugins {
    id("com.android.library")
    id("org.jetbrains.kotlin.android")
}

val sodium = rootProject.file(providers.gradleProperty("coterie.sodium").get())

android {
    namespace = "org.coterie"
    compileSdk = 34
    ndkVersion = "26.3.11579264"
    defaultConfig {
        minSdk = 24
        consumerProguardFiles("../../../device_sdk/bindings/java/aar/proguard.txt")
        ndk { abiFilters += listOf("arm64-v8a", "x86_64") }
        externalNativeBuild {
            cmake {
                targets += "coterie_jni"
                arguments += listOf(
                    "-DANDROID_STL=c++_static", "-DCOTERIE_SDK_TRANSPORT=OFF", "-DCOTERIE_BUILD_SERVER=OFF",
                    "-DCOTERIE_BUILD_TESTS=OFF", "-DCOTERIE_ANDROID_SODIUM=$sodium")
            }
        }
    }
    externalNativeBuild { cmake { path = file("../../../CMakeLists.txt"); version = "3.25.1+" } }
    sourceSets["main"].java.srcDirs("../../../device_sdk/bindings/java/src", "../../../device_sdk/bindings/kotlin")
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    kotlinOptions { jvmTarget = "1.8" }
}
